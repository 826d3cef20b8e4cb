//! Connections of HTTP/2, for clients that know in advance that the server speaks it.

mod backpressure;

use std::cell::Cell;
use std::convert::Infallible;
use std::future::poll_fn;
use std::io::Cursor;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, ORIGIN};
use hyper::rt::Executor;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::AsyncReadExt as _;
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep};

use super::handle::handle;
use super::rejection::Rejection;
use super::request::{Method, Request, is_json};
use super::response::Response;
use super::service::Service;
use crate::limits::HttpLimits;
use crate::net::transport::Transport;
use crate::trace;
use backpressure::{PendingBody, StallTimer, Unsent};

/// How long a client may be silent before it is sent a ping.
const PING_INTERVAL: Duration = Duration::from_secs(20);

/// Runs the tasks of a connection on the thread of that connection.
#[derive(Clone, Copy)]
struct LocalExecutor;

impl<F: Future + 'static> Executor<F> for LocalExecutor {
    fn execute(&self, future: F) {
        drop(spawn_local(async move {
            future.await;
        }));
    }
}

/// Serves a connection that has begun with these bytes.
pub(super) async fn serve(service: Rc<Service>, transport: Transport, start: Vec<u8>) {
    let (stream, mut registration) = transport.into_parts();
    let (reader, writer) = stream.into_split();
    let stream = tokio::io::join(Cursor::new(start).chain(reader), writer);
    let (requests, unsent) = (Rc::new(Cell::new(0_u64)), Arc::<Unsent>::default());
    let (answering, counting, sending) =
        (Rc::clone(&service), Rc::clone(&requests), Arc::clone(&unsent));
    let answer = service_fn(move |request| {
        counting.set(counting.get().wrapping_add(1));
        answer(Rc::clone(&answering), Arc::clone(&sending), request)
    });
    let connection = builder(&service.limits).serve_connection(TokioIo::new(stream), answer);
    let mut connection = std::pin::pin!(connection);
    let HttpLimits { idle, timeout, .. } = service.limits;
    let mut timer = std::pin::pin!(sleep(idle));
    let mut stalled = StallTimer::new(unsent, timeout);
    let (mut closing, mut seen) = (false, 0);
    poll_fn(|cx| {
        registration.wake_by(cx.waker());
        let mut is_over = service.worker.is_stopping();
        while timer.as_mut().poll(cx).is_ready() {
            // No request since the timer was set, or a client that was told to close has not done so.
            is_over |= std::mem::replace(&mut seen, requests.get()) == requests.get();
            if closing {
                return Poll::Ready(());
            }
            timer.as_mut().reset(Instant::now() + if is_over { timeout } else { idle });
        }
        if is_over && !std::mem::replace(&mut closing, true) {
            connection.as_mut().graceful_shutdown();
            timer.as_mut().reset(Instant::now() + timeout);
        }
        // hyper answers violations of the protocol itself.
        if connection.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        stalled.poll(cx)
    })
    .await;
}

fn builder(limits: &HttpLimits) -> http2::Builder<LocalExecutor> {
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

type Http2Response = hyper::Response<PendingBody>;

async fn answer(
    service: Rc<Service>,
    unsent: Arc<Unsent>,
    request: hyper::Request<Incoming>,
) -> Result<Http2Response, Infallible> {
    let (head, body) = request.into_parts();
    let limits = &service.limits;
    let rejected = |rejection: &Rejection| {
        let mut response = Response::default();
        rejection.write_to(&mut response);
        Ok(to_http2(&response, &unsent))
    };
    if !unsent.wait_below(limits.max_pending_bytes, limits.timeout).await {
        return rejected(&Rejection::unread());
    }
    let body = Limited::new(body, limits.body_bytes).collect();
    let body = match tokio::time::timeout(limits.timeout, body).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            return rejected(&Rejection::body_too_large());
        }
        Ok(Err(_)) => return rejected(&Rejection::bad_request("the body did not arrive")),
        Err(_) => return rejected(&Rejection::timed_out()),
    };
    let request = Request {
        method: Method::from_name(head.method.as_str()),
        target: head.uri.path_and_query().map_or("/", |target| target.as_str()),
        is_json: head.headers.get(CONTENT_TYPE).is_some_and(|value| is_json(value.as_bytes())),
        has_origin: head.headers.contains_key(ORIGIN),
        body: &body,
        trace: head.headers.get(trace::TRACEPARENT).and_then(|value| value.to_str().ok()),
    };
    let mut written = Http2Response::new(unsent.body(String::new()));
    handle(&service, &[request], |_, response| written = to_http2(response, &unsent)).await;
    if request.method == Method::Head {
        *written.body_mut() = unsent.body(String::new());
    }
    Ok(written)
}

fn to_http2(response: &Response, unsent: &Arc<Unsent>) -> Http2Response {
    let mut written = Http2Response::new(unsent.body(response.body.clone()));
    *written.status_mut() = hyper::StatusCode::from_u16(response.status).unwrap_or_default();
    let fields = written.headers_mut();
    fields.insert(CONTENT_LENGTH, response.body.len().into());
    if !response.body.is_empty() {
        fields.insert(CONTENT_TYPE, HeaderValue::from_static(response.content_type));
    }
    for (name, value) in &response.fields {
        if let Ok(value) = HeaderValue::from_str(value) {
            fields.insert(HeaderName::from_static(name), value);
        }
    }
    written
}
