//! Window: fixed-window and request-window.
//!
//! **What it is.** One counter that starts again with every window. Fixed windows are laid along
//! the clock or the calendar; a request window opens with the first request.
//!
//! **What it promises.** At most `capacity` in each window. Across the boundary of two it can be
//! twice that within an instant: all of one window at its end, all of the next at its start.
//!
//! **What it costs.** One counter and the bounds of its window.

use super::packed::{Pack, Under, Words};
use super::{Calendar, Counting, Handle, MAX_COUNT, Taken};
use crate::error::Overdrawn;
use crate::far::Numbers;
use crate::time::{Span, Time};

/// How windows are laid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Frame {
    /// Back to back from the epoch.
    Aligned(Span),
    /// Days, weeks, months or years of a time zone.
    Calendar(Calendar),
    /// From the first request on.
    Request(Span),
}

/// At most `capacity` in each window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Window {
    capacity: u64,
    frame: Frame,
}

#[derive(Debug, Clone)]
pub(crate) struct Body {
    start: Time,
    end: Time,
    count: u64,
}

impl Window {
    /// The length of a window is at least one tick.
    pub(crate) fn new(capacity: u64, frame: Frame) -> Window {
        Window { capacity, frame }
    }

    pub(crate) fn frame(&self) -> &Frame {
        &self.frame
    }

    pub(crate) fn numbers(&self) -> Numbers {
        let capacity = self.capacity;
        match self.frame {
            Frame::Aligned(window) => Numbers::Aligned { capacity, window },
            Frame::Request(window) => Numbers::Request { capacity, window },
            Frame::Calendar(_) => Numbers::Calendar { capacity },
        }
    }

    /// The bounds of the window that an operation at `now` counts in.
    fn around(&self, now: Time, open: Option<&Body>) -> (Time, Time) {
        match &self.frame {
            Frame::Aligned(length) => {
                let start = now.floor_to(*length);
                (start, start.after(*length))
            }
            Frame::Calendar(calendar) => calendar.around(now),
            Frame::Request(length) => {
                let start = open.map(|body| body.start).filter(|start| now < start.after(*length));
                let start = start.unwrap_or(now);
                (start, start.after(*length))
            }
        }
    }
}

impl Body {
    fn contains(&self, at: Time) -> bool {
        self.start <= at && at < self.end
    }
}

impl Pack for Window {
    fn terms(&self) -> Under {
        Under::Window
    }

    #[inline]
    fn pack(body: &Body) -> (Under, Words) {
        (Under::Window, [body.count, body.start.as_micros(), body.end.as_micros()])
    }

    #[inline]
    fn unpack(under: Under, [count, start, end]: Words) -> Option<Body> {
        let Under::Window = under else { return None };
        Some(Body { start: Time::at(start), end: Time::at(end), count })
    }
}

impl Counting for Window {
    type Body = Body;

    fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The longest a window can be.
    fn drain(&self) -> Span {
        match &self.frame {
            Frame::Aligned(length) | Frame::Request(length) => *length,
            Frame::Calendar(calendar) => calendar.longest(),
        }
    }

    fn instant(body: &Body) -> Time {
        body.start
    }

    fn resets(body: &Body) -> Time {
        body.end
    }

    fn headroom(&self, body: &Body, _: Time) -> Option<u64> {
        self.capacity.checked_sub(body.count)
    }

    fn fits_at(&self, body: &Body, _: Time, _: u64) -> Time {
        body.end
    }

    /// Where the length was changed, all that still counts moves into the window of now.
    fn take(
        &self,
        body: &mut Option<Body>,
        now: Time,
        cost: u64,
        _: Option<Handle<'_>>,
    ) -> Result<(), Overdrawn> {
        let (start, end) = self.around(now, body.as_ref());
        let count = body.as_ref().map_or(0, |body| body.count).saturating_add(cost);
        if count > MAX_COUNT {
            return Err(Overdrawn);
        }
        *body = Some(Body { start, end, count });
        Ok(())
    }

    fn give(&self, body: &mut Option<Body>, _: Time, cost: u64) {
        *body = body.take().and_then(|body| {
            let count = body.count.saturating_sub(cost);
            (count > 0).then_some(Body { count, ..body })
        });
    }

    fn still(&self, body: &Body, _: Time, taken: Taken<'_>) -> u64 {
        if body.contains(taken.at) { body.count } else { 0 }
    }

    fn take_late(
        &self,
        body: &mut Option<Body>,
        now: Time,
        cost: u64,
        taken: Taken<'_>,
    ) -> Result<bool, Overdrawn> {
        let counts = match &self.frame {
            Frame::Request(length) => now < taken.at.after(*length),
            Frame::Aligned(_) | Frame::Calendar(_) => self.around(now, None).0 <= taken.at,
        };
        if !counts {
            return Ok(false);
        }
        // A request window that was closed since opens again when it did.
        let opens =
            if matches!(self.frame, Frame::Request(_)) && body.is_none() { taken.at } else { now };
        self.take(body, opens, cost, Some(taken.handle)).map(|()| true)
    }
}
