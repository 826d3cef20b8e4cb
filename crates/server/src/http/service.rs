//! What the HTTP connections of one worker share.

use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use hyper::rt::Executor;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::TokioTimer;
use tokio::task::spawn_local;
use tollgate_http::Network;

use crate::engine::Engine;
use crate::limits::HttpLimits;
use crate::metrics::OpenConnections;
use crate::net::worker::Worker;

/// How long a client of HTTP/2 may be silent before it is sent a ping.
const PING_INTERVAL: Duration = Duration::from_secs(20);
/// hyper does not work with buffers that are smaller.
const MIN_BUFFER_BYTES: usize = 8 * 1024;
/// The number of header fields for which hyper needs no memory from the heap.
const USUAL_HEADERS: usize = 100;

/// Answers HTTP on one worker.
pub(crate) struct Service {
    pub(super) worker: Rc<Worker>,
    pub(super) engine: Arc<Engine>,
    /// Open connections of all protocols, for the metrics page.
    pub(super) connections: OpenConnections,
    pub(super) limits: HttpLimits,
    trusted_proxies: Arc<[Network]>,
    pub(super) http1: http1::Builder,
    pub(super) http2: http2::Builder<LocalExecutor>,
}

/// Runs the requests of a connection on the thread of that connection.
#[derive(Clone, Copy)]
pub(super) struct LocalExecutor;

impl<F: Future + 'static> Executor<F> for LocalExecutor {
    fn execute(&self, future: F) {
        drop(spawn_local(async move {
            future.await;
        }));
    }
}

impl Service {
    pub(crate) fn new(
        worker: Rc<Worker>,
        engine: Arc<Engine>,
        connections: OpenConnections,
        limits: HttpLimits,
        trusted_proxies: Arc<[Network]>,
    ) -> Rc<Service> {
        let (http1, http2) = (http1(&limits), http2(&limits));
        Rc::new(Service { worker, engine, connections, limits, trusted_proxies, http1, http2 })
    }

    /// Returns whether a peer is on this machine, or a proxy that is trusted.
    pub(super) fn trusts(&self, peer: IpAddr) -> bool {
        is_trusted(peer, &self.trusted_proxies)
    }
}

fn is_trusted(peer: IpAddr, trusted_proxies: &[Network]) -> bool {
    let is_in = |network: &Network| network.contains(peer);
    peer.to_canonical().is_loopback() || trusted_proxies.iter().any(is_in)
}

/// Settings for small requests on connections that stay open. No timer: [`Watch`](super::connection::watch::Watch) has one
/// for all requests of a connection.
fn http1(limits: &HttpLimits) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        // A client may end its side and still wait for its responses.
        .half_close(true)
        // A response is mostly head: copying the body behind it is cheaper than a vectored write.
        .writev(false)
        .max_header_size(limits.head_bytes)
        .max_buf_size(limits.head_bytes.max(MIN_BUFFER_BYTES));
    if limits.headers != USUAL_HEADERS {
        builder.max_headers(limits.headers);
    }
    builder
}

fn http2(limits: &HttpLimits) -> http2::Builder<LocalExecutor> {
    let mut builder = http2::Builder::new(LocalExecutor);
    let bytes = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(bytes(limits.head_bytes))
        .max_send_buf_size(limits.max_pending_bytes)
        .initial_stream_window_size(bytes(limits.body_bytes).max(1))
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(limits.timeout);
    builder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_and_the_proxies_that_are_named_are_trusted() {
        let trusted = ["10.0.0.0/8", "2001:db8::/32"].map(|network| network.parse().unwrap());
        for (peer, all, none) in [
            ("127.0.0.1", true, true),
            ("127.8.9.1", true, true),
            ("::1", true, true),
            ("::ffff:127.0.0.1", true, true),
            ("10.1.2.3", true, false),
            ("::ffff:10.1.2.3", true, false),
            ("2001:db8::7", true, false),
            ("192.0.2.1", false, false),
            ("2001:db9::7", false, false),
        ] {
            let peer = peer.parse().unwrap();
            assert_eq!(is_trusted(peer, &trusted), all, "{peer}");
            assert_eq!(is_trusted(peer, &[]), none, "{peer}");
        }
    }
}
