//! `[server.http_limits]` and `[server.resp_limits]`: a word for each field.

use std::time::Duration;

use super::diagnostics::Diagnostics;
use super::length;
use super::read::Table;
use crate::limits::{HttpLimits, MAX_HEADERS, RespLimits};

/// The greatest number of words, requests or checks that are held at once for one connection.
const MAX_AT_ONCE: usize = 1_000_000;
/// The greatest number of bytes that are held for one connection.
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// More connections than one machine has file descriptors for, as a rule.
const MAX_CONNECTIONS: usize = 1_000_000;
/// Each of them has a state of its own, whether or not it is used.
const MAX_STREAMS: usize = 10_000;
/// Whoever is waited for longer than this has gone.
const MAX_TIMEOUT: &str = "1h";
/// Beyond this, connections that nobody uses are likelier than those that somebody returns to.
const MAX_IDLE: &str = "24h";

pub(super) fn http(found: &mut Diagnostics<'_>, table: Table<'_>, bounds: &mut HttpLimits) {
    let mut fields = Fields { found, table };
    fields.count("headers", &mut bounds.headers, MAX_HEADERS);
    fields.count("head_bytes", &mut bounds.head_bytes, MAX_BYTES);
    fields.count("body_bytes", &mut bounds.body_bytes, MAX_BYTES);
    fields.count("batch", &mut bounds.batch, MAX_AT_ONCE);
    fields.count("pipeline", &mut bounds.pipeline, MAX_AT_ONCE);
    fields.count("max_pending_bytes", &mut bounds.max_pending_bytes, MAX_BYTES);
    fields.count("streams", &mut bounds.streams, MAX_STREAMS);
    fields.length("timeout", &mut bounds.timeout, MAX_TIMEOUT);
    fields.length("idle", &mut bounds.idle, MAX_IDLE);
    fields.count("connections", &mut bounds.connections, MAX_CONNECTIONS);
    fields.count("peer_connections", &mut bounds.peer_connections, MAX_CONNECTIONS);
    fields.table.finish(fields.found);
}

pub(super) fn resp(found: &mut Diagnostics<'_>, table: Table<'_>, bounds: &mut RespLimits) {
    let mut fields = Fields { found, table };
    fields.count("args", &mut bounds.args, MAX_AT_ONCE);
    fields.count("arg_bytes", &mut bounds.arg_bytes, MAX_BYTES);
    fields.count("command_bytes", &mut bounds.command_bytes, MAX_BYTES);
    fields.count("transaction_bytes", &mut bounds.transaction_bytes, MAX_BYTES);
    fields.count("pipeline", &mut bounds.pipeline, MAX_AT_ONCE);
    fields.count("max_pending_bytes", &mut bounds.max_pending_bytes, MAX_BYTES);
    fields.length("timeout", &mut bounds.timeout, MAX_TIMEOUT);
    fields.count("connections", &mut bounds.connections, MAX_CONNECTIONS);
    fields.count("peer_connections", &mut bounds.peer_connections, MAX_CONNECTIONS);
    fields.table.finish(fields.found);
}

struct Fields<'f, 't, 'a> {
    found: &'f mut Diagnostics<'t>,
    table: Table<'a>,
}

impl Fields<'_, '_, '_> {
    /// A whole number, from 1 on.
    fn count<N: TryFrom<u64>>(&mut self, word: &'static str, field: &mut N, most: usize) {
        let Some(value) = self.table.take(word) else { return };
        let number = value.whole(self.found, 1..=most as u64);
        if let Some(number) = number.and_then(|number| N::try_from(number).ok()) {
            *field = number;
        }
    }

    fn length(&mut self, word: &'static str, field: &mut Duration, longest: &str) {
        let value = self.table.take(word);
        if let Some(length) = value.and_then(|value| length::read(self.found, &value, longest)) {
            *field = length;
        }
    }
}
