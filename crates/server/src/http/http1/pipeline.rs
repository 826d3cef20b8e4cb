//! The requests of HTTP/1 that have arrived together.

use smallvec::SmallVec;

use super::chunked::ChunkedBody;
use super::error::MessageError;
use super::head::{Head, Parsed, parse};
use crate::limits::HttpLimits;

pub(super) type Heads = SmallVec<[Head; 1]>;

/// How far the bytes of a connection have been parsed.
#[derive(Debug, Default)]
pub(super) struct Pipeline {
    /// Where the next request begins.
    start: usize,
    /// Whether the one empty line that may stand before it was skipped. More of them count as part of its
    /// head.
    skipped_line: bool,
    /// How far its body has been parsed, if it is chunked.
    chunked: ChunkedBody,
}

/// What follows the requests that were found.
#[derive(Debug, Clone, Copy)]
pub(super) enum Next {
    /// Perhaps another request: those found are enough for one call.
    More,
    /// Part of a request; `expects_continue` if the client waits for `100 Continue` before it sends the rest.
    Partial { expects_continue: bool },
}

impl Pipeline {
    /// Finds the next requests, at most as many as are answered in one call, and what follows them.
    pub(super) fn find(
        &mut self,
        bytes: &mut [u8],
        limits: &HttpLimits,
    ) -> (Heads, Result<Next, MessageError>) {
        let mut heads = Heads::new();
        let next = loop {
            self.skip_empty_line(bytes);
            match parse(bytes, self.start, &mut self.chunked, limits) {
                Ok(Parsed::Complete(head)) => {
                    *self = Pipeline { start: head.end, ..Pipeline::default() };
                    let is_full = heads.len() + 1 >= limits.pipeline;
                    let is_last = !head.keeps_alive || is_full || head.is_page(bytes);
                    heads.push(head);
                    if is_last {
                        break Ok(Next::More);
                    }
                }
                Ok(Parsed::Partial { expects_continue }) => {
                    break Ok(Next::Partial { expects_continue });
                }
                Err(broken) => break Err(broken),
            }
        };
        (heads, next)
    }

    /// Some clients send an empty line after a body.
    fn skip_empty_line(&mut self, bytes: &[u8]) {
        if !self.skipped_line && self.rest(bytes).starts_with(b"\r\n") {
            (self.start, self.skipped_line) = (self.start + 2, true);
        }
    }

    /// Returns what is not parsed yet.
    pub(super) fn rest<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        bytes.get(self.start..).unwrap_or_default()
    }

    /// Returns how many bytes were parsed, and starts over with those that follow.
    pub(super) fn take_consumed(&mut self) -> usize {
        std::mem::take(&mut self.start)
    }
}
