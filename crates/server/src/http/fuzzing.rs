//! A connection of HTTP/1 without a socket.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use hyper::header::CONTENT_TYPE;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde::de::IgnoredAny;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::runtime::{Builder, Runtime};

use super::answer::answer;
use super::connection::Connection;
use super::response_body::ResponseBody;
use super::service::Service;
use crate::metrics;

/// The client.
const PEER: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// The status, and the rest of a response.
type ResponseSummary = (u16, String);

thread_local! {
    /// Bodies that arrive in pieces set a timer.
    static RUNTIME: io::Result<Runtime> = Builder::new_current_thread().enable_time().build();
}

/// Returns the responses to bytes that arrive in two pieces.
pub(crate) fn answers(service: &Rc<Service>, pieces: [&[u8]; 2]) -> Vec<ResponseSummary> {
    let answered = Rc::<RefCell<Vec<ResponseSummary>>>::default();
    let (connection, recording) =
        (Rc::new(Connection::new(service, PEER, None)), Rc::clone(&answered));
    let answer = service_fn(move |request| {
        let (connection, recording) = (Rc::clone(&connection), Rc::clone(&recording));
        async move {
            let response = answer(connection, request).await;
            recording.borrow_mut().extend(response.iter().map(checked));
            response
        }
    });
    let client =
        Pieces { left: pieces.map(Vec::from).into(), is_late: false, received: Vec::new() };
    let mut http1 = service.http1.serve_connection(TokioIo::new(client), answer);
    RUNTIME.with(|runtime| {
        let runtime = runtime.as_ref().unwrap_or_else(|error| unreachable!("no runtime: {error}"));
        // The client breaks the protocol more often than not.
        let _ = runtime.block_on(&mut http1);
    });
    let received = http1.into_parts().io.into_inner().received;
    assert!(received.is_empty() || received.starts_with(b"HTTP/1."), "{}", received.escape_ascii());
    answered.take()
}

/// Checks a response.
fn checked(response: &hyper::Response<ResponseBody>) -> ResponseSummary {
    let (status, fields) = (response.status().as_u16(), response.headers());
    let body = String::from_utf8_lossy(&response.body().rest).into_owned();
    let kind = fields.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.ends_with("json") && !body.is_empty() {
        assert!(serde_json::from_str::<IgnoredAny>(&body).is_ok(), "{body}");
    }
    if kind == metrics::CONTENT_TYPE {
        // The page has durations, and with them its length differs.
        return (status, String::new());
    }
    (status, format!("{fields:?} {body}"))
}

/// A client that sends pieces, waits between them, and closes its side after the last.
struct Pieces {
    left: VecDeque<Vec<u8>>,
    /// Whether the next piece is let wait once.
    is_late: bool,
    received: Vec<u8>,
}

impl AsyncRead for Pieces {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if std::mem::take(&mut self.is_late) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let Some(piece) = self.left.front_mut() else { return Poll::Ready(Ok(())) };
        let count = piece.len().min(buffer.remaining());
        buffer.put_slice(&piece.drain(..count).collect::<Vec<_>>());
        if piece.is_empty() {
            self.left.pop_front();
            self.is_late = true;
        }
        if count == 0 { self.poll_read(cx, buffer) } else { Poll::Ready(Ok(())) }
    }
}

impl AsyncWrite for Pieces {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.received.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
