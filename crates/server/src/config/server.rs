//! `[server]`: listen addresses, threads and connection limits.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;

use tollgate_http::Network;

use super::diagnostics::Diagnostics;
use super::limits;
use super::listen::{self, Listen};
use super::value::{Table, Value};
use crate::limits::{HttpLimits, RespLimits};

/// Default port for HTTP.
const HTTP_PORT: u16 = 8080;
/// Default port for the Redis protocol. It differs from the port of Redis itself.
const RESP_PORT: u16 = 6380;
/// Maximum number of threads. No machine has more processors.
const MAX_THREADS: u64 = 1_024;
/// Shortest IPv6 prefix. Shorter ones would count unrelated clients as one: registries assign 32 bits to
/// a whole provider.
const MIN_IPV6_PREFIX: u64 = 32;

/// The `[server]` table: listen addresses, threads and connection limits.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ServerConfig {
    /// Listen address for HTTP. Default: 127.0.0.1:8080.
    pub http: Listen,
    /// Listen address for the Redis protocol. Default: 127.0.0.1:6380.
    pub resp: Listen,
    /// Listen address for gRPC. Default: off. It is not supported yet.
    pub grpc: Listen,
    /// Number of worker threads that share the connections. Default: one for each processor.
    pub threads: Option<NonZeroUsize>,
    /// Trusted proxies, besides those on this machine. They receive `Tollgate-Silenced: 1` where a request was denied
    /// silently.
    pub trusted_proxies: Vec<Network>,
    /// Limits on HTTP connections.
    pub http_limits: HttpLimits,
    /// Limits on connections of the Redis protocol.
    pub resp_limits: RespLimits,
}

impl Default for ServerConfig {
    fn default() -> ServerConfig {
        ServerConfig {
            http: localhost(HTTP_PORT),
            resp: localhost(RESP_PORT),
            grpc: Listen::Off,
            threads: None,
            trusted_proxies: Vec::new(),
            http_limits: HttpLimits::default(),
            resp_limits: RespLimits::default(),
        }
    }
}

/// Returns an address that only this machine can reach.
fn localhost(port: u16) -> Listen {
    Listen::At(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
}

impl ServerConfig {
    pub(super) fn read(diagnostics: &mut Diagnostics<'_>, mut table: Table<'_>) -> ServerConfig {
        let mut server = ServerConfig::default();
        server.addresses(diagnostics, &mut table);
        if let Some(threads) = table.take("threads") {
            let threads = threads.whole(diagnostics, 1..=MAX_THREADS);
            server.threads =
                threads.and_then(|threads| NonZeroUsize::new(usize::try_from(threads).ok()?));
        }
        if let Some(table) = table.take("http_limits").and_then(|value| value.table(diagnostics)) {
            limits::http(diagnostics, table, &mut server.http_limits);
        }
        if let Some(table) = table.take("resp_limits").and_then(|value| value.table(diagnostics)) {
            limits::resp(diagnostics, table, &mut server.resp_limits);
        }
        server.proxies(diagnostics, &mut table);
        for (key, files, required) in [
            ("tls", ["cert", "key", "client_ca"].as_slice(), ["cert", "key"].as_slice()),
            ("auth", &["token_file", "admin_token_file"], &[]),
        ] {
            if let Some(table) = table.take(key).and_then(|value| value.table(diagnostics)) {
                read_files(diagnostics, table, files, required);
            }
        }
        table.finish(diagnostics);
        server
    }

    /// Reads which proxies are trusted, and how many bits of an IPv6 address identify a client.
    fn proxies(&mut self, diagnostics: &mut Diagnostics<'_>, table: &mut Table<'_>) {
        if let Some(value) = table.take("trusted_proxies") {
            let networks = value.list(diagnostics, "a list of networks").unwrap_or_default();
            for network in &networks {
                let parse = |text: &str| text.parse::<Network>().ok();
                let parsed = network.parsed(diagnostics, Network::EXPECTED, parse);
                self.trusted_proxies.extend(parsed);
            }
        }
        if let Some(value) = table.take("ipv6_prefix") {
            value.whole(diagnostics, MIN_IPV6_PREFIX..=128);
            diagnostics.unsupported(value.at(), value.path());
        }
    }

    fn addresses(&mut self, diagnostics: &mut Diagnostics<'_>, table: &mut Table<'_>) {
        let http = Address::read(diagnostics, table, "http", &mut self.http);
        let resp = Address::read(diagnostics, table, "resp", &mut self.resp);
        let grpc = Address::read(diagnostics, table, "grpc", &mut self.grpc);
        for (one, other) in [(&http, &resp), (&http, &grpc), (&resp, &grpc)] {
            one.check_distinct(diagnostics, other);
        }
        if let (Listen::At(_), Some(value)) = (grpc.listen, &grpc.value) {
            diagnostics.unsupported(value.at(), value.path());
        }
    }
}

/// The listen address of a protocol, and its value in the file, if it is there.
struct Address<'a> {
    key: &'static str,
    listen: Listen,
    value: Option<Value<'a>>,
}

impl<'a> Address<'a> {
    fn read(
        diagnostics: &mut Diagnostics<'_>,
        table: &mut Table<'a>,
        key: &'static str,
        field: &mut Listen,
    ) -> Address<'a> {
        let value = table.take(key);
        let parse = |text: &str| text.parse().ok();
        let listen =
            value.as_ref().and_then(|value| value.parsed(diagnostics, listen::EXPECTED, parse));
        *field = listen.unwrap_or(*field);
        Address { key, listen: *field, value }
    }

    /// Adds an error if two protocols share an address, unless the system chooses the port.
    fn check_distinct(&self, diagnostics: &mut Diagnostics<'_>, other: &Address<'_>) {
        let position = |address: &Address<'_>| address.value.as_ref().map(Value::at);
        let (first, last) =
            if position(self) > position(other) { (other, self) } else { (self, other) };
        let same = self.listen.address().filter(|address| other.listen == Listen::At(*address));
        let Some(address) = same.filter(|address| address.port() != 0) else { return };
        if let Some(value) = &last.value {
            let expected = format!("an address other than that of server.{}", first.key);
            value.unexpected(diagnostics, &address.to_string(), &expected);
        }
    }
}

/// Reads a table of file names.
fn read_files(
    diagnostics: &mut Diagnostics<'_>,
    mut table: Table<'_>,
    files: &[&'static str],
    required: &[&'static str],
) {
    if !table.is_empty() {
        diagnostics.unsupported(table.at(), table.path());
        for key in files {
            let value = if required.contains(key) {
                table.take_required(diagnostics, key)
            } else {
                table.take(key)
            };
            value.and_then(|value| value.non_empty_text(diagnostics, "a file name"));
        }
    }
    table.finish(diagnostics);
}
