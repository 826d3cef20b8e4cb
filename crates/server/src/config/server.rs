//! `[server]`: where it listens, and how much a stranger may send.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;

use super::diagnostics::Diagnostics;
use super::listen::{self, Listen};
use super::read::{Table, Value};
use super::{bounds, network};
use crate::limits::{HttpLimits, RespLimits};

/// Where HTTP is spoken, if not said.
const HTTP_PORT: u16 = 8080;
/// Where the Redis protocol is spoken, if not said: not where Redis itself is.
const RESP_PORT: u16 = 6380;
/// More threads than any machine has processors.
const MAX_THREADS: u64 = 1_024;
/// Wider than this, strangers are one; 32 bits are what a registry gives to a whole provider.
const MIN_IPV6_PREFIX: u64 = 32;

/// Where and how the server listens.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ServerConfig {
    /// Where HTTP is spoken: 127.0.0.1:8080, if not said.
    pub http: Listen,
    /// Where the Redis protocol is spoken: 127.0.0.1:6380, if not said.
    pub resp: Listen,
    /// Where gRPC is to be spoken: nowhere, if not said. It is not acted on yet.
    pub grpc: Listen,
    /// How many threads share the connections: one for each processor, if not said.
    pub threads: Option<NonZeroUsize>,
    /// What clients of HTTP may send.
    pub http_limits: HttpLimits,
    /// What clients of the Redis protocol may send.
    pub resp_limits: RespLimits,
}

impl Default for ServerConfig {
    fn default() -> ServerConfig {
        ServerConfig {
            http: here(HTTP_PORT),
            resp: here(RESP_PORT),
            grpc: Listen::Off,
            threads: None,
            http_limits: HttpLimits::default(),
            resp_limits: RespLimits::default(),
        }
    }
}

/// Where only this machine reaches it.
fn here(port: u16) -> Listen {
    Listen::At(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
}

impl ServerConfig {
    pub(super) fn read(found: &mut Diagnostics<'_>, mut table: Table<'_>) -> ServerConfig {
        let mut server = ServerConfig::default();
        server.addresses(found, &mut table);
        if let Some(threads) = table.take("threads") {
            let threads = threads.whole(found, 1..=MAX_THREADS);
            server.threads =
                threads.and_then(|threads| NonZeroUsize::new(usize::try_from(threads).ok()?));
        }
        if let Some(table) = table.take("http_limits").and_then(|value| value.table(found)) {
            bounds::http(found, table, &mut server.http_limits);
        }
        if let Some(table) = table.take("resp_limits").and_then(|value| value.table(found)) {
            bounds::resp(found, table, &mut server.resp_limits);
        }
        proxies(found, &mut table);
        for (word, names, needed) in [
            ("tls", ["cert", "key", "client_ca"].as_slice(), ["cert", "key"].as_slice()),
            ("auth", &["token_file", "admin_token_file"], &[]),
        ] {
            if let Some(table) = table.take(word).and_then(|value| value.table(found)) {
                files(found, table, names, needed);
            }
        }
        table.finish(found);
        server
    }

    fn addresses(&mut self, found: &mut Diagnostics<'_>, table: &mut Table<'_>) {
        let http = Said::read(found, table, "http", &mut self.http);
        let resp = Said::read(found, table, "resp", &mut self.resp);
        let grpc = Said::read(found, table, "grpc", &mut self.grpc);
        for (one, other) in [(&http, &resp), (&http, &grpc), (&resp, &grpc)] {
            one.keep_apart(found, other);
        }
        if let (Listen::At(_), Some(value)) = (grpc.listen, &grpc.value) {
            found.not_yet(value.at(), value.path());
        }
    }
}

/// Where a protocol is spoken, and where that is said, if it is.
struct Said<'a> {
    word: &'static str,
    listen: Listen,
    value: Option<Value<'a>>,
}

impl<'a> Said<'a> {
    fn read(
        found: &mut Diagnostics<'_>,
        table: &mut Table<'a>,
        word: &'static str,
        field: &mut Listen,
    ) -> Said<'a> {
        let value = table.take(word);
        let parse = |text: &str| text.parse().ok();
        let said = value.as_ref().and_then(|value| value.parsed(found, listen::EXPECTED, parse));
        *field = said.unwrap_or(*field);
        Said { word, listen: *field, value }
    }

    /// Two protocols cannot share an address, unless the system is to choose the port.
    fn keep_apart(&self, found: &mut Diagnostics<'_>, other: &Said<'_>) {
        let place = |said: &Said<'_>| said.value.as_ref().map(Value::at);
        let (first, last) = if place(self) > place(other) { (other, self) } else { (self, other) };
        let same = self.listen.address().filter(|address| other.listen == Listen::At(*address));
        let Some(address) = same.filter(|address| address.port() != 0) else { return };
        if let Some(value) = &last.value {
            let expected = format!("an address other than that of server.{}", first.word);
            value.wrong(found, &address.to_string(), &expected);
        }
    }
}

/// Whose word on a client's address is believed, and how much of one tells clients apart.
fn proxies(found: &mut Diagnostics<'_>, table: &mut Table<'_>) {
    if let Some(value) = table.take("trusted_proxies") {
        let networks = value.list(found, "a list of networks").unwrap_or_default();
        for network in &networks {
            network.parsed(found, network::EXPECTED, network::parse);
        }
        if !networks.is_empty() {
            found.not_yet(value.at(), value.path());
        }
    }
    if let Some(value) = table.take("ipv6_prefix") {
        value.whole(found, MIN_IPV6_PREFIX..=128);
        found.not_yet(value.at(), value.path());
    }
}

/// A table that names files.
fn files(
    found: &mut Diagnostics<'_>,
    mut table: Table<'_>,
    words: &[&'static str],
    needed: &[&'static str],
) {
    if !table.is_empty() {
        found.not_yet(table.at(), table.path());
        for word in words {
            let value =
                if needed.contains(word) { table.need(found, word) } else { table.take(word) };
            value.and_then(|value| value.some_text(found, "the name of a file"));
        }
    }
    table.finish(found);
}
