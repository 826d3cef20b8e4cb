//! One connection of HTTP/1: what arrives is answered, as soon as it can be read and written.

use std::rc::Rc;

use smallvec::SmallVec;
use tokio::net::TcpStream;
use tokio::task::yield_now;

use super::exchange::exchange;
use super::head::{Broken, Head, Step, find};
use super::refusal::Refusal;
use super::response::{Manner, Response};
use super::{Method, two};
use crate::host::event_loop::Loop;
use crate::host::wire::{Event, Unread, Wire};

/// What HTTP/2 begins with, when both sides know that it is spoken.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(crate) struct Connection {
    wire: Wire,
    /// Whether anything was said yet.
    is_new: bool,
}

type Heads = SmallVec<[Head; 1]>;

impl Connection {
    pub(crate) fn new(stream: TcpStream, number: u64, home: Rc<Loop>) -> Connection {
        Connection { wire: Wire::new(stream, number, home, |home| &home.http), is_new: true }
    }

    /// Answers until one side leaves.
    pub(crate) async fn serve(mut self) {
        loop {
            let (mut buffer, filled) = match self.wire.next().await {
                Event::Came(buffer, filled) => (buffer, filled),
                Event::Late => {
                    self.refuse(&Refusal::late());
                    continue;
                }
                Event::Gone => return,
            };
            let bytes = buffer.get_mut(..filled).unwrap_or_default();
            if self.is_new && bytes.starts_with(PREFACE.get(..filled).unwrap_or(PREFACE)) {
                if filled >= PREFACE.len() {
                    let begun = bytes.to_vec();
                    self.wire.keep(buffer, filled, filled);
                    return two::serve(self.wire, begun).await;
                }
                self.wire.keep(buffer, 0, filled);
                continue;
            }
            self.is_new = false;
            let Ok(taken) = self.answer(bytes).await else { return };
            let is_full = filled == buffer.len();
            self.wire.keep(buffer, taken, filled);
            if is_full {
                // Others have waited.
                yield_now().await;
            }
        }
    }

    /// Answers all requests that have arrived whole, and says how many bytes they took.
    async fn answer(&mut self, bytes: &mut [u8]) -> Result<usize, Unread> {
        let mut start = 0;
        loop {
            let (heads, end) = self.find(bytes, start);
            start = heads.last().map_or(start, |head| head.end);
            self.answer_all(&heads, bytes).await;
            self.wire.drain().await?;
            match end {
                _ if self.wire.leaving => return Ok(start),
                Ok(Step::Part { expects }) => {
                    if expects {
                        self.wire.out.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
                    }
                    return Ok(start);
                }
                Ok(Step::Whole(_)) => yield_now().await,
                Err(broken) => {
                    self.refuse(&Refusal::from(broken));
                    return Ok(start);
                }
            }
        }
    }

    /// The requests from here on, as many as are answered at once, and what came after the last.
    fn find(&self, bytes: &mut [u8], mut start: usize) -> (Heads, Result<Step, Broken>) {
        let bounds = &self.wire.home.bounds().http;
        let mut heads = Heads::new();
        loop {
            match find(bytes, start, bounds) {
                Ok(Step::Whole(head)) => {
                    start = head.end;
                    let is_last = !head.keeps_alive || heads.len() + 1 >= bounds.pipeline;
                    heads.push(head.clone());
                    if is_last {
                        return (heads, Ok(Step::Whole(head)));
                    }
                }
                end => return (heads, end),
            }
        }
    }

    async fn answer_all(&mut self, heads: &[Head], bytes: &[u8]) {
        let Wire { home, out, leaving, .. } = &mut self.wire;
        let requests: SmallVec<[_; 1]> = heads.iter().map(|head| head.request(bytes)).collect();
        let date = home.date();
        exchange(home, &requests, |place, response| {
            let Some(head) = heads.get(place) else { return };
            let keeps_alive = head.keeps_alive && !home.is_stopping();
            let without_body = head.method == Method::Head;
            response.write_to(out, Manner { date: &date, without_body, keeps_alive });
            *leaving |= !keeps_alive;
        })
        .await;
    }

    /// What follows would be misread: says why, and leaves.
    fn refuse(&mut self, refusal: &Refusal) {
        let mut response = Response::default();
        refusal.write_to(&mut response);
        let date = self.wire.home.date();
        let manner = Manner { date: &date, without_body: false, keeps_alive: false };
        response.write_to(&mut self.wire.out, manner);
        self.wire.leaving = true;
    }
}
