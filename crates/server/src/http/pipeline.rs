//! The requests of HTTP/1 that have come together.

use smallvec::SmallVec;

use super::chunked::Pieces;
use super::head::{Broken, Head, Step, find};
use crate::limits::HttpLimits;

pub(super) type Heads = SmallVec<[Head; 1]>;

/// How far what a connection has sent was read.
#[derive(Debug, Default)]
pub(super) struct Pipeline {
    /// Where the next request begins.
    start: usize,
    /// Whether the one empty line that may stand before it was passed over. More are part of its head,
    /// and count as such.
    after_line: bool,
    /// How much of its body has come, if that comes in pieces.
    pieces: Pieces,
}

/// What comes after the requests that were found.
#[derive(Debug, Clone, Copy)]
pub(super) enum Then {
    /// Perhaps another: those are enough for once.
    More,
    /// The start of one; whether the client waits to be told to send the rest.
    Part { expects: bool },
}

impl Pipeline {
    /// The requests from where it is on, as many as are answered at once, and what comes then.
    pub(super) fn find(
        &mut self,
        bytes: &mut [u8],
        bounds: &HttpLimits,
    ) -> (Heads, Result<Then, Broken>) {
        let mut heads = Heads::new();
        let then = loop {
            self.pass_line(bytes);
            match find(bytes, self.start, &mut self.pieces, bounds) {
                Ok(Step::Whole(head)) => {
                    *self = Pipeline { start: head.end, ..Pipeline::default() };
                    let is_full = heads.len() + 1 >= bounds.pipeline;
                    let is_last = !head.keeps_alive || is_full || head.is_look(bytes);
                    heads.push(head);
                    if is_last {
                        break Ok(Then::More);
                    }
                }
                Ok(Step::Part { expects }) => break Ok(Then::Part { expects }),
                Err(broken) => break Err(broken),
            }
        };
        (heads, then)
    }

    /// Some send an empty line after a body.
    fn pass_line(&mut self, bytes: &[u8]) {
        if !self.after_line && self.rest(bytes).starts_with(b"\r\n") {
            (self.start, self.after_line) = (self.start + 2, true);
        }
    }

    /// What was not read yet.
    pub(super) fn rest<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        bytes.get(self.start..).unwrap_or_default()
    }

    /// How many bytes were read. Those that follow come next, from their start on.
    pub(super) fn taken(&mut self) -> usize {
        std::mem::take(&mut self.start)
    }
}
