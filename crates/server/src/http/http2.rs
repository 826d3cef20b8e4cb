//! HTTP/2, for clients that know that it is spoken here.

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

use super::backpressure::{PendingBody, StallTimer, Unsent};
use super::handle::handle;
use super::head::TOO_LARGE;
use super::rejection::Rejection;
use super::response::Response;
use super::{Method, Request, is_json};
use crate::host::transport::Transport;
use crate::host::worker::Worker;
use crate::limits::HttpLimits;
use crate::trace;

/// How often a client that says nothing is asked whether it is still there.
const PING: Duration = Duration::from_secs(20);

/// Runs what belongs to a connection on the thread of that connection.
#[derive(Clone, Copy)]
struct Here;

impl<F: Future + 'static> Executor<F> for Here {
    fn execute(&self, future: F) {
        drop(spawn_local(async move {
            future.await;
        }));
    }
}

/// Goes on with a connection that has begun with this.
pub(super) async fn serve(transport: Transport, begun: Vec<u8>) {
    let (stream, worker, mut registration) = transport.into_parts();
    let (reader, writer) = stream.into_split();
    let stream = tokio::io::join(Cursor::new(begun).chain(reader), writer);
    let (asked, unsent) = (Rc::new(Cell::new(0_u64)), Arc::<Unsent>::default());
    let (answering, heard, sending) = (Rc::clone(&worker), Rc::clone(&asked), Arc::clone(&unsent));
    let service = service_fn(move |request| {
        heard.set(heard.get().wrapping_add(1));
        answer(Rc::clone(&answering), Arc::clone(&sending), request)
    });
    let connection = builder(&worker.bounds().http).serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let HttpLimits { idle, timeout, .. } = worker.bounds().http;
    let mut timer = std::pin::pin!(sleep(idle));
    let mut stalled = StallTimer::new(unsent, timeout);
    let (mut is_told, mut known) = (false, 0);
    poll_fn(|cx| {
        registration.wake_by(cx.waker());
        let mut is_over = worker.is_stopping();
        while timer.as_mut().poll(cx).is_ready() {
            // Nobody asked since, or whoever was told to leave has not.
            is_over |= std::mem::replace(&mut known, asked.get()) == asked.get();
            if is_told {
                return Poll::Ready(());
            }
            timer.as_mut().reset(Instant::now() + if is_over { timeout } else { idle });
        }
        if is_over && !std::mem::replace(&mut is_told, true) {
            connection.as_mut().graceful_shutdown();
            timer.as_mut().reset(Instant::now() + timeout);
        }
        // Whoever breaks the protocol is told by the connection itself.
        if connection.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        stalled.poll(cx)
    })
    .await;
}

fn builder(bounds: &HttpLimits) -> http2::Builder<Here> {
    let mut builder = http2::Builder::new(Here);
    let most = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(bounds.streams)
        .max_header_list_size(most(bounds.head_bytes))
        .max_send_buf_size(bounds.max_pending_bytes)
        .initial_stream_window_size(most(bounds.body_bytes).max(1))
        .keep_alive_interval(PING)
        .keep_alive_timeout(bounds.timeout);
    builder
}

type Answer = hyper::Response<PendingBody>;

async fn answer(
    worker: Rc<Worker>,
    unsent: Arc<Unsent>,
    request: hyper::Request<Incoming>,
) -> Result<Answer, Infallible> {
    let (head, body) = request.into_parts();
    let bounds = &worker.bounds().http;
    let refused = |rejection: &Rejection| {
        let mut response = Response::default();
        rejection.write_to(&mut response);
        Ok(written(&response, &unsent))
    };
    if !unsent.fewer_than(bounds.max_pending_bytes, bounds.timeout).await {
        return refused(&Rejection::unread());
    }
    let body = Limited::new(body, bounds.body_bytes).collect();
    let body = match tokio::time::timeout(bounds.timeout, body).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            return refused(&Rejection::from(TOO_LARGE));
        }
        Ok(Err(_)) => return refused(&Rejection::bad_request("the body did not arrive")),
        Err(_) => return refused(&Rejection::late()),
    };
    let request = Request {
        method: Method::named(head.method.as_str()),
        target: head.uri.path_and_query().map_or("/", |target| target.as_str()),
        is_json: head.headers.get(CONTENT_TYPE).is_some_and(|value| is_json(value.as_bytes())),
        has_origin: head.headers.contains_key(ORIGIN),
        body: &body,
        trace: head.headers.get(trace::TRACEPARENT).and_then(|value| value.to_str().ok()),
    };
    let mut answer = Answer::new(unsent.body(String::new()));
    handle(&worker, &[request], |_, response| answer = written(response, &unsent)).await;
    if request.method == Method::Head {
        *answer.body_mut() = unsent.body(String::new());
    }
    Ok(answer)
}

fn written(response: &Response, unsent: &Arc<Unsent>) -> Answer {
    let mut answer = Answer::new(unsent.body(response.body.clone()));
    *answer.status_mut() = hyper::StatusCode::from_u16(response.status).unwrap_or_default();
    let fields = answer.headers_mut();
    fields.insert(CONTENT_LENGTH, response.body.len().into());
    if !response.body.is_empty() {
        fields.insert(CONTENT_TYPE, HeaderValue::from_static(response.content_type));
    }
    for (name, value) in &response.fields {
        if let Ok(value) = HeaderValue::from_str(value) {
            fields.insert(HeaderName::from_static(name), value);
        }
    }
    answer
}
