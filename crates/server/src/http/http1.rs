//! Connections of HTTP/1.0 and 1.1. One that begins with the preface of HTTP/2 goes on as such.

mod chunked;
mod error;
mod framing;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod head;
mod pipeline;

use std::rc::Rc;

use smallvec::SmallVec;
use tokio::net::TcpStream;
use tokio::task::yield_now;

use super::handle::handle;
use super::http2;
use super::rejection::Rejection;
use super::request::Method;
use super::response::Response;
use super::service::Service;
use crate::net::transport::{ReadEvent, Transport, Unread};
use error::{MessageError, TOO_LARGE};
use framing::Framing;
use head::Head;
use pipeline::{Next, Pipeline};

/// What a client of HTTP/2 sends first, if it knows in advance that the server speaks it.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Serves a connection until one side closes it.
pub(crate) async fn serve(service: Rc<Service>, stream: TcpStream, number: u64) {
    let (worker, buffers) = (Rc::clone(&service.worker), Rc::clone(&service.buffers));
    let transport = Transport::new(stream, number, worker, buffers);
    let pipeline = Pipeline::default();
    let connection =
        Connection { transport, service, pipeline, is_new: true, sent_continue: false };
    connection.serve().await;
}

struct Connection {
    transport: Transport,
    service: Rc<Service>,
    pipeline: Pipeline,
    /// Whether nothing but the start of a preface has arrived so far.
    is_new: bool,
    /// Whether the client was told to send the rest of its request.
    sent_continue: bool,
}

impl Connection {
    async fn serve(mut self) {
        loop {
            let (mut buffer, filled) = match self.transport.next().await {
                ReadEvent::Data(buffer, filled) => (buffer, filled),
                ReadEvent::TimedOut => {
                    self.reject(&Rejection::timed_out(), false);
                    continue;
                }
                ReadEvent::Closed => break,
            };
            let capacity = buffer.len();
            let bytes = buffer.get_mut(..filled).unwrap_or_default();
            if self.is_new && bytes.starts_with(PREFACE.get(..filled).unwrap_or(PREFACE)) {
                if filled >= PREFACE.len() {
                    let start = bytes.to_vec();
                    self.transport.keep(buffer, filled, filled);
                    return http2::serve(self.service, self.transport, start).await;
                }
                self.transport.keep(buffer, 0, filled);
                continue;
            }
            self.is_new = false;
            let is_full = filled == capacity;
            let Ok(consumed) = self.answer(bytes).await else { return };
            self.transport.keep(buffer, consumed, filled);
            if is_full {
                // Give other connections a turn.
                yield_now().await;
            }
        }
        self.transport.close().await;
    }

    /// Answers all requests that have arrived whole. Returns how many bytes they had.
    async fn answer(&mut self, bytes: &mut [u8]) -> Result<usize, Unread> {
        let max = self.service.limits.request_bytes();
        loop {
            let (heads, next) = self.pipeline.find(bytes, &self.service.limits);
            self.sent_continue &= heads.is_empty();
            self.answer_all(&heads, bytes).await;
            self.transport.drain().await?;
            let rest = self.pipeline.rest(bytes);
            match next {
                _ if self.transport.closing => break,
                Ok(Next::More) => {
                    yield_now().await;
                    continue;
                }
                // The rest of the request would not fit into the buffer.
                Ok(Next::Partial { .. }) if rest.len() >= max => self.fail(TOO_LARGE, rest),
                Ok(Next::Partial { expects_continue: true })
                    if !std::mem::replace(&mut self.sent_continue, true) =>
                {
                    self.transport.out.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
                }
                Ok(Next::Partial { .. }) => {}
                Err(error) => self.fail(error, rest),
            }
            break;
        }
        Ok(self.pipeline.take_consumed())
    }

    fn fail(&mut self, error: MessageError, rest: &[u8]) {
        self.reject(&Rejection::from(error), is_head(rest));
    }

    async fn answer_all(&mut self, heads: &[Head], bytes: &[u8]) {
        let Transport { worker, out, closing, .. } = &mut self.transport;
        let requests: SmallVec<[_; 1]> = heads.iter().map(|head| head.request(bytes)).collect();
        let date = self.service.date();
        handle(&self.service, &requests, |index, response| {
            let Some(head) = heads.get(index) else { return };
            // Only the last response says that the server is about to stop.
            let is_over = worker.is_stopping() && index + 1 == heads.len();
            let keeps_alive = head.keeps_alive && !is_over;
            let connection = match keeps_alive {
                false => Some("close"),
                // A client of HTTP/1.0 expects the connection to close unless it is told otherwise.
                true => head.is_http10.then_some("keep-alive"),
            };
            let without_body = head.method == Method::Head;
            Framing { date: &date, without_body, connection }.write(response, out);
            *closing |= !keeps_alive;
        })
        .await;
    }

    /// Answers with an error and closes, since what follows cannot be parsed.
    fn reject(&mut self, rejection: &Rejection, without_body: bool) {
        let mut response = Response::default();
        rejection.write_to(&mut response);
        let date = self.service.date();
        let framing = Framing { date: &date, without_body, connection: Some("close") };
        framing.write(&response, &mut self.transport.out);
        self.transport.closing = true;
        self.transport.lingers = true;
    }
}

/// Returns whether the response must have no body, whatever is wrong with the request.
fn is_head(bytes: &[u8]) -> bool {
    bytes.starts_with(b"HEAD ")
}
