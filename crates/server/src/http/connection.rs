//! One connection of HTTP/1: what arrives is answered, as soon as it can be read and written.

use std::rc::Rc;

use smallvec::SmallVec;
use tokio::net::TcpStream;
use tokio::task::yield_now;

use super::handle::handle;
use super::head::{Broken, Head, TOO_LARGE};
use super::pipeline::{Pipeline, Then};
use super::rejection::Rejection;
use super::response::{Framing, Response};
use super::{Method, http2};
use crate::host::transport::{ReadEvent, Transport, Unread};
use crate::host::worker::Worker;

/// What HTTP/2 begins with, when both sides know that it is spoken.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(crate) struct Connection {
    transport: Transport,
    pipeline: Pipeline,
    /// Whether anything was said yet.
    is_new: bool,
    /// Whether the client was told to send the rest of its request.
    is_told: bool,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream, number: u64, worker: Rc<Worker>) -> Connection {
        let transport = Transport::new(stream, number, worker, |worker| &worker.http);
        let pipeline = Pipeline::default();
        Connection { transport, pipeline, is_new: true, is_told: false }
    }

    /// Answers until one side leaves.
    pub(crate) async fn serve(mut self) {
        loop {
            let (mut buffer, filled) = match self.transport.next().await {
                ReadEvent::Data(buffer, filled) => (buffer, filled),
                ReadEvent::TimedOut => {
                    self.refuse(&Rejection::late(), false);
                    continue;
                }
                ReadEvent::Closed => break,
            };
            let capacity = buffer.len();
            let bytes = buffer.get_mut(..filled).unwrap_or_default();
            if self.is_new && bytes.starts_with(PREFACE.get(..filled).unwrap_or(PREFACE)) {
                if filled >= PREFACE.len() {
                    let begun = bytes.to_vec();
                    self.transport.keep(buffer, filled, filled);
                    return http2::serve(self.transport, begun).await;
                }
                self.transport.keep(buffer, 0, filled);
                continue;
            }
            self.is_new = false;
            let is_full = filled == capacity;
            let Ok(taken) = self.answer(bytes).await else { return };
            self.transport.keep(buffer, taken, filled);
            if is_full {
                // Others have waited.
                yield_now().await;
            }
        }
        self.transport.close().await;
    }

    /// Answers all requests that have arrived whole, and says how many bytes they took.
    async fn answer(&mut self, bytes: &mut [u8]) -> Result<usize, Unread> {
        let most = self.transport.worker.bounds().http.request_bytes();
        loop {
            let (heads, then) = self.pipeline.find(bytes, &self.transport.worker.bounds().http);
            self.is_told &= heads.is_empty();
            self.answer_all(&heads, bytes).await;
            self.transport.drain().await?;
            let rest = self.pipeline.rest(bytes);
            match then {
                _ if self.transport.leaving => break,
                Ok(Then::More) => {
                    yield_now().await;
                    continue;
                }
                // There is no room for the rest of it.
                Ok(Then::Part { .. }) if rest.len() >= most => self.break_off(TOO_LARGE, rest),
                Ok(Then::Part { expects: true }) if !std::mem::replace(&mut self.is_told, true) => {
                    self.transport.out.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
                }
                Ok(Then::Part { .. }) => {}
                Err(broken) => self.break_off(broken, rest),
            }
            break;
        }
        Ok(self.pipeline.taken())
    }

    fn break_off(&mut self, broken: Broken, rest: &[u8]) {
        self.refuse(&Rejection::from(broken), is_head(rest));
    }

    async fn answer_all(&mut self, heads: &[Head], bytes: &[u8]) {
        let Transport { worker, out, leaving, .. } = &mut self.transport;
        let requests: SmallVec<[_; 1]> = heads.iter().map(|head| head.request(bytes)).collect();
        let date = worker.date();
        handle(worker, &requests, |place, response| {
            let Some(head) = heads.get(place) else { return };
            // Only after the last is there nothing more.
            let is_over = worker.is_stopping() && place + 1 == heads.len();
            let keeps_alive = head.keeps_alive && !is_over;
            let connection = match keeps_alive {
                false => Some("close"),
                // Whoever is that old waits for the end unless it is told that there is none.
                true => head.is_old.then_some("keep-alive"),
            };
            let without_body = head.method == Method::Head;
            response.write_to(out, Framing { date: &date, without_body, connection });
            *leaving |= !keeps_alive;
        })
        .await;
    }

    /// What follows would be misread: says why, and leaves.
    fn refuse(&mut self, rejection: &Rejection, without_body: bool) {
        let mut response = Response::default();
        rejection.write_to(&mut response);
        let date = self.transport.worker.date();
        let framing = Framing { date: &date, without_body, connection: Some("close") };
        response.write_to(&mut self.transport.out, framing);
        self.transport.leaving = true;
        self.transport.is_cut_off = true;
    }
}

/// Whether a request is one that must be answered without a body, whatever is wrong with it.
fn is_head(bytes: &[u8]) -> bool {
    bytes.starts_with(b"HEAD ")
}
