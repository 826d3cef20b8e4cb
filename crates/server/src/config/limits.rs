//! `[server.http_limits]` and `[server.resp_limits]`: one key for each field.

use std::time::Duration;

use super::diagnostics::Diagnostics;
use super::duration;
use super::value::Table;
use crate::limits::{HttpLimits, MAX_HEADERS, RespLimits};

/// Maximum number of arguments, requests or checks held at once for one connection.
const MAX_AT_ONCE: usize = 1_000_000;
/// Maximum number of bytes held for one connection.
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// Maximum number of connections. Few machines have more file descriptors.
const MAX_CONNECTIONS: usize = 1_000_000;
/// Maximum number of HTTP/2 streams. Each has a state of its own, whether or not it is used.
const MAX_STREAMS: usize = 10_000;
/// Longest timeout. A client that stalls for longer has gone.
const MAX_TIMEOUT: &str = "1h";
/// Longest idle time. Beyond this a connection is more likely abandoned than used again.
const MAX_IDLE: &str = "24h";

pub(super) fn http(diagnostics: &mut Diagnostics<'_>, table: Table<'_>, limits: &mut HttpLimits) {
    let mut fields = Fields { diagnostics, table };
    fields.count("headers", &mut limits.headers, MAX_HEADERS);
    fields.count("head_bytes", &mut limits.head_bytes, MAX_BYTES);
    fields.count("body_bytes", &mut limits.body_bytes, MAX_BYTES);
    fields.count("batch", &mut limits.batch, MAX_AT_ONCE);
    fields.count("max_pending_bytes", &mut limits.max_pending_bytes, MAX_BYTES);
    fields.count("streams", &mut limits.streams, MAX_STREAMS);
    fields.duration("timeout", &mut limits.timeout, MAX_TIMEOUT);
    fields.duration("idle", &mut limits.idle, MAX_IDLE);
    fields.count("connections", &mut limits.connections, MAX_CONNECTIONS);
    fields.count("peer_connections", &mut limits.peer_connections, MAX_CONNECTIONS);
    fields.table.finish(fields.diagnostics);
}

pub(super) fn resp(diagnostics: &mut Diagnostics<'_>, table: Table<'_>, limits: &mut RespLimits) {
    let mut fields = Fields { diagnostics, table };
    fields.count("args", &mut limits.args, MAX_AT_ONCE);
    fields.count("arg_bytes", &mut limits.arg_bytes, MAX_BYTES);
    fields.count("command_bytes", &mut limits.command_bytes, MAX_BYTES);
    fields.count("transaction_bytes", &mut limits.transaction_bytes, MAX_BYTES);
    fields.count("pipeline", &mut limits.pipeline, MAX_AT_ONCE);
    fields.count("max_pending_bytes", &mut limits.max_pending_bytes, MAX_BYTES);
    fields.duration("timeout", &mut limits.timeout, MAX_TIMEOUT);
    fields.count("connections", &mut limits.connections, MAX_CONNECTIONS);
    fields.count("peer_connections", &mut limits.peer_connections, MAX_CONNECTIONS);
    fields.table.finish(fields.diagnostics);
}

struct Fields<'f, 't, 'a> {
    diagnostics: &'f mut Diagnostics<'t>,
    table: Table<'a>,
}

impl Fields<'_, '_, '_> {
    /// Reads a whole number from 1 to `max`.
    fn count<N: TryFrom<u64>>(&mut self, key: &'static str, field: &mut N, max: usize) {
        let Some(value) = self.table.take(key) else { return };
        let number = value.whole(self.diagnostics, 1..=max as u64);
        if let Some(number) = number.and_then(|number| N::try_from(number).ok()) {
            *field = number;
        }
    }

    fn duration(&mut self, key: &'static str, field: &mut Duration, max: &str) {
        let value = self.table.take(key);
        if let Some(read) = value.and_then(|value| duration::read(self.diagnostics, &value, max)) {
            *field = read;
        }
    }
}
