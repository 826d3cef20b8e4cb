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

use super::exchange::exchange;
use super::head::TOO_LARGE;
use super::refusal::Refusal;
use super::response::Response;
use super::unsent::{Stalled, Told, Unsent};
use super::{Method, Request, is_json};
use crate::bounds::HttpBounds;
use crate::host::event_loop::Loop;
use crate::host::wire::Wire;
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
pub(super) async fn serve(wire: Wire, begun: Vec<u8>) {
    let (stream, home, mut visit) = wire.into_parts();
    let (reader, writer) = stream.into_split();
    let stream = tokio::io::join(Cursor::new(begun).chain(reader), writer);
    let (asked, unsent) = (Rc::new(Cell::new(0_u64)), Arc::<Unsent>::default());
    let (answering, heard, sending) = (Rc::clone(&home), Rc::clone(&asked), Arc::clone(&unsent));
    let service = service_fn(move |request| {
        heard.set(heard.get().wrapping_add(1));
        answer(Rc::clone(&answering), Arc::clone(&sending), request)
    });
    let connection = builder(&home.bounds().http).serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let HttpBounds { idle, patience, .. } = home.bounds().http;
    let mut timer = std::pin::pin!(sleep(idle));
    let mut stalled = Stalled::new(unsent, patience);
    let (mut is_told, mut known) = (false, 0);
    poll_fn(|cx| {
        visit.wake_by(cx.waker());
        let mut is_over = home.is_stopping();
        while timer.as_mut().poll(cx).is_ready() {
            // Nobody asked since, or whoever was told to leave has not.
            is_over |= std::mem::replace(&mut known, asked.get()) == asked.get();
            if is_told {
                return Poll::Ready(());
            }
            timer.as_mut().reset(Instant::now() + if is_over { patience } else { idle });
        }
        if is_over && !std::mem::replace(&mut is_told, true) {
            connection.as_mut().graceful_shutdown();
            timer.as_mut().reset(Instant::now() + patience);
        }
        // Whoever breaks the protocol is told by the connection itself.
        if connection.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        stalled.poll(cx)
    })
    .await;
}

fn builder(bounds: &HttpBounds) -> http2::Builder<Here> {
    let mut builder = http2::Builder::new(Here);
    let most = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(bounds.streams)
        .max_header_list_size(most(bounds.head_bytes))
        .max_send_buf_size(bounds.unread_bytes)
        .initial_stream_window_size(most(bounds.body_bytes).max(1))
        .keep_alive_interval(PING)
        .keep_alive_timeout(bounds.patience);
    builder
}

type Answer = hyper::Response<Told>;

async fn answer(
    home: Rc<Loop>,
    unsent: Arc<Unsent>,
    request: hyper::Request<Incoming>,
) -> Result<Answer, Infallible> {
    let (head, body) = request.into_parts();
    let bounds = &home.bounds().http;
    let refused = |refusal: &Refusal| {
        let mut response = Response::default();
        refusal.write_to(&mut response);
        Ok(written(&response, &unsent))
    };
    if !unsent.fewer_than(bounds.unread_bytes, bounds.patience).await {
        return refused(&Refusal::unread());
    }
    let body = Limited::new(body, bounds.body_bytes).collect();
    let body = match tokio::time::timeout(bounds.patience, body).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            return refused(&Refusal::from(TOO_LARGE));
        }
        Ok(Err(_)) => return refused(&Refusal::bad_request("the body did not arrive")),
        Err(_) => return refused(&Refusal::late()),
    };
    let request = Request {
        method: Method::named(head.method.as_str()),
        target: head.uri.path_and_query().map_or("/", |target| target.as_str()),
        is_json: head.headers.get(CONTENT_TYPE).is_some_and(|value| is_json(value.as_bytes())),
        is_of_page: head.headers.contains_key(ORIGIN),
        body: &body,
        trace: head.headers.get(trace::PARENT).and_then(|value| value.to_str().ok()),
    };
    let mut answer = Answer::new(unsent.body(String::new()));
    exchange(&home, &[request], |_, response| answer = written(response, &unsent)).await;
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
