//! The life of a connection: its first bytes tell the version, hyper serves it, and while there is nothing to
//! do it holds no buffers.

use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use hyper::body::Bytes;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulConnection;
use tokio::io::{AsyncRead as _, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};

use super::TIMED_OUT;
use super::answer::answer;
use super::connection::Connection;
use super::connection::io::Io;
use super::connection::watch::{End, Watch, period};
use super::service::Service;
use crate::net::linger::linger;
use crate::net::worker::ShutdownRegistration;

/// What a client of HTTP/2 sends first, if it knows in advance that the server speaks it.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Serves a connection until one side closes it.
pub(crate) async fn serve(service: Rc<Service>, mut stream: TcpStream, peer: IpAddr, number: u64) {
    let mut registration = service.worker.register(number);
    let (idle, period) = (service.limits.idle, period(&service.limits));
    let start = first_bytes(&service, &mut registration, &mut stream, idle, true).await;
    let Some(mut start) = start else { return };
    if start == PREFACE.as_slice() {
        return serve_http2(&service, &mut registration, (stream, peer), start).await;
    }
    loop {
        let quiet = serve_http1(&service, &mut registration, (stream, peer), start).await;
        let Some(quiet) = quiet else { return };
        stream = quiet;
        // It has been idle for one period already.
        let left = idle.saturating_sub(period);
        let next = first_bytes(&service, &mut registration, &mut stream, left, false).await;
        let Some(next) = next else { return };
        start = next;
    }
}

/// Waits for the next bytes. Of a new connection it reads enough to tell whether they are the preface of
/// HTTP/2. Returns `None` if the connection is over.
async fn first_bytes(
    service: &Service,
    registration: &mut ShutdownRegistration,
    stream: &mut TcpStream,
    idle: Duration,
    is_new: bool,
) -> Option<Bytes> {
    let (mut bytes, mut filled, mut deadline) = ([0; PREFACE.len()], 0, Instant::now() + idle);
    loop {
        let mut space = ReadBuf::new(bytes.get_mut(filled..)?);
        let read = poll_fn(|cx| {
            registration.wake_by(cx.waker());
            match service.worker.is_stopping() {
                true => Poll::Ready(Ok(())),
                false => Pin::new(&mut *stream).poll_read(cx, &mut space),
            }
        });
        timeout_at(deadline, read).await.ok()?.ok()?;
        let count = space.filled().len();
        if filled == 0 {
            // From the first byte on, however slowly the rest arrives.
            deadline = Instant::now() + service.limits.timeout;
        }
        filled += count;
        let read = bytes.get(..filled)?;
        match is_new && PREFACE.starts_with(read) {
            _ if count == 0 => return None,
            true if filled < PREFACE.len() => {}
            _ => return Some(Bytes::copy_from_slice(read)),
        }
    }
}

/// Serves HTTP/1. Returns the stream if the connection has become quiet.
async fn serve_http1(
    service: &Rc<Service>,
    registration: &mut ShutdownRegistration,
    (stream, peer): (TcpStream, IpAddr),
    start: Bytes,
) -> Option<TcpStream> {
    let connection = Rc::new(Connection::new(service, peer, None));
    let io = Io::new(stream, start, Rc::clone(&connection));
    let answering = Rc::clone(&connection);
    let answer = service_fn(move |request| answer(Rc::clone(&answering), request));
    let mut http1 = service.http1.serve_connection(TokioIo::new(io), answer);
    let watch = Watch::new(&connection, period(&service.limits));
    let end = drive(Pin::new(&mut http1), watch, &connection, registration).await;
    let parts = http1.into_parts();
    let mut stream = parts.io.into_inner().into_stream();
    match end {
        // Some clients send an empty line after a body.
        End::Quiet if parts.read_buf.iter().all(|byte| b"\r\n".contains(byte)) => {
            return Some(stream);
        }
        End::Quiet | End::Incomplete => {
            // It is short, and nothing else is waiting to be sent.
            let _ = stream.try_write(TIMED_OUT);
            linger(&mut stream).await;
        }
        // What follows the last request is not answered.
        End::Closed if connection.progress.expects_more() || !parts.read_buf.is_empty() => {
            linger(&mut stream).await;
        }
        End::Closed | End::Unread => {}
    }
    None
}

async fn serve_http2(
    service: &Rc<Service>,
    registration: &mut ShutdownRegistration,
    (stream, peer): (TcpStream, IpAddr),
    start: Bytes,
) {
    let connection = Rc::new(Connection::new(service, peer, Some(Arc::default())));
    let io = Io::new(stream, start, Rc::clone(&connection));
    let answering = Rc::clone(&connection);
    let answer = service_fn(move |request| answer(Rc::clone(&answering), request));
    let mut http2 = service.http2.serve_connection(TokioIo::new(io), answer);
    let watch = Watch::new(&connection, service.limits.idle);
    let end = drive(Pin::new(&mut http2), watch, &connection, registration).await;
    if end == End::Quiet {
        // hyper sends GOAWAY; the client may finish the streams it has opened.
        Pin::new(&mut http2).graceful_shutdown();
        let _ = timeout(service.limits.timeout, http2).await;
    }
}

/// Runs a connection of either version until it ends, or its client has taken too long.
async fn drive<C: GracefulConnection>(
    mut http: Pin<&mut C>,
    mut watch: Watch<'_>,
    connection: &Connection,
    registration: &mut ShutdownRegistration,
) -> End {
    let (worker, mut closing) = (&connection.service.worker, false);
    poll_fn(|cx| {
        registration.wake_by(cx.waker());
        if worker.is_stopping() && !std::mem::replace(&mut closing, true) {
            http.as_mut().graceful_shutdown();
        }
        // hyper answers violations of the protocol itself.
        if http.as_mut().poll(cx).is_ready() {
            return Poll::Ready(End::Closed);
        }
        // hyper would wait for the rest of a head. Over HTTP/2 it first tells the client.
        if closing && connection.unsent.is_none() && connection.progress.is_idle() {
            return Poll::Ready(End::Closed);
        }
        watch.poll(cx)
    })
    .await
}
