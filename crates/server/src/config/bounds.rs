//! `[server.http_bounds]` and `[server.resp_bounds]`: a word for each field.

use std::time::Duration;

use super::findings::Findings;
use super::length;
use super::read::Table;
use crate::bounds::{HttpBounds, MOST_HEADERS, RespBounds};

/// The greatest number of words, requests or checks that are held at once for one connection.
const MOST_AT_ONCE: usize = 1_000_000;
/// The greatest number of bytes that are held for one connection.
const MOST_BYTES: usize = 64 * 1024 * 1024;
/// More connections than one machine has file descriptors for, as a rule.
const MOST_CONNECTIONS: usize = 1_000_000;
/// Each of them has a state of its own, whether or not it is used.
const MOST_STREAMS: usize = 10_000;
/// Whoever is waited for longer than this has gone.
const LONGEST_PATIENCE: &str = "1h";
/// Beyond this, connections that nobody uses are likelier than those that somebody returns to.
const LONGEST_IDLE: &str = "24h";

pub(super) fn http(found: &mut Findings<'_>, table: Table<'_>, bounds: &mut HttpBounds) {
    let mut fields = Fields { found, table };
    fields.count("headers", &mut bounds.headers, MOST_HEADERS);
    fields.count("head_bytes", &mut bounds.head_bytes, MOST_BYTES);
    fields.count("body_bytes", &mut bounds.body_bytes, MOST_BYTES);
    fields.count("batch", &mut bounds.batch, MOST_AT_ONCE);
    fields.count("pipeline", &mut bounds.pipeline, MOST_AT_ONCE);
    fields.count("unread_bytes", &mut bounds.unread_bytes, MOST_BYTES);
    fields.count("streams", &mut bounds.streams, MOST_STREAMS);
    fields.length("patience", &mut bounds.patience, LONGEST_PATIENCE);
    fields.length("idle", &mut bounds.idle, LONGEST_IDLE);
    fields.count("connections", &mut bounds.connections, MOST_CONNECTIONS);
    fields.count("peer_connections", &mut bounds.peer_connections, MOST_CONNECTIONS);
    fields.table.finish(fields.found);
}

pub(super) fn resp(found: &mut Findings<'_>, table: Table<'_>, bounds: &mut RespBounds) {
    let mut fields = Fields { found, table };
    fields.count("words", &mut bounds.words, MOST_AT_ONCE);
    fields.count("word_bytes", &mut bounds.word_bytes, MOST_BYTES);
    fields.count("command_bytes", &mut bounds.command_bytes, MOST_BYTES);
    fields.count("transaction_bytes", &mut bounds.transaction_bytes, MOST_BYTES);
    fields.count("pipeline", &mut bounds.pipeline, MOST_AT_ONCE);
    fields.count("unread_bytes", &mut bounds.unread_bytes, MOST_BYTES);
    fields.length("patience", &mut bounds.patience, LONGEST_PATIENCE);
    fields.count("connections", &mut bounds.connections, MOST_CONNECTIONS);
    fields.count("peer_connections", &mut bounds.peer_connections, MOST_CONNECTIONS);
    fields.table.finish(fields.found);
}

struct Fields<'f, 't, 'a> {
    found: &'f mut Findings<'t>,
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
