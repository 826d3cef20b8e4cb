//! What the HTTP connections of one worker share.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use hyper::rt::Executor;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::TokioTimer;
use tokio::task::spawn_local;

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
    ) -> Rc<Service> {
        let (http1, http2) = (http1(&limits), http2(&limits));
        Rc::new(Service { worker, engine, connections, limits, http1, http2 })
    }
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
