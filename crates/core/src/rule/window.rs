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
use crate::remote::RuleParams;
use crate::time::{Span, Time};

/// How windows are laid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Alignment {
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
    alignment: Alignment,
}

#[derive(Debug, Clone)]
pub(crate) struct WindowState {
    start: Time,
    end: Time,
    count: u64,
}

impl Window {
    /// The length of a window is at least one tick.
    pub(crate) fn new(capacity: u64, alignment: Alignment) -> Window {
        Window { capacity, alignment }
    }

    pub(crate) fn alignment(&self) -> &Alignment {
        &self.alignment
    }

    pub(crate) fn params(&self) -> RuleParams {
        let capacity = self.capacity;
        match self.alignment {
            Alignment::Aligned(window) => RuleParams::Aligned { capacity, window },
            Alignment::Request(window) => RuleParams::Request { capacity, window },
            Alignment::Calendar(_) => RuleParams::Calendar { capacity },
        }
    }

    /// The bounds of the window that an operation at `now` counts in.
    fn around(&self, now: Time, open: Option<&WindowState>) -> (Time, Time) {
        match &self.alignment {
            Alignment::Aligned(length) => {
                let start = now.floor_to(*length);
                (start, start.after(*length))
            }
            Alignment::Calendar(calendar) => calendar.around(now),
            Alignment::Request(length) => {
                let start = open.map(|body| body.start).filter(|start| now < start.after(*length));
                let start = start.unwrap_or(now);
                (start, start.after(*length))
            }
        }
    }
}

impl WindowState {
    fn contains(&self, at: Time) -> bool {
        self.start <= at && at < self.end
    }
}

impl Pack for Window {
    fn terms(&self) -> Under {
        Under::Window
    }

    #[inline]
    fn pack(body: &WindowState) -> (Under, Words) {
        (Under::Window, [body.count, body.start.as_micros(), body.end.as_micros()])
    }

    #[inline]
    fn unpack(under: Under, [count, start, end]: Words) -> Option<WindowState> {
        let Under::Window = under else { return None };
        Some(WindowState { start: Time::at(start), end: Time::at(end), count })
    }
}

impl Counting for Window {
    type Body = WindowState;

    fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The longest a window can be.
    fn full_reset_after(&self) -> Span {
        match &self.alignment {
            Alignment::Aligned(length) | Alignment::Request(length) => *length,
            Alignment::Calendar(calendar) => calendar.longest(),
        }
    }

    fn instant(body: &WindowState) -> Time {
        body.start
    }

    fn resets(body: &WindowState) -> Time {
        body.end
    }

    fn headroom(&self, body: &WindowState, _: Time) -> Option<u64> {
        self.capacity.checked_sub(body.count)
    }

    fn fits_at(&self, body: &WindowState, _: Time, _: u64) -> Time {
        body.end
    }

    /// Where the length was changed, all that still counts moves into the window of now.
    fn take(
        &self,
        body: &mut Option<WindowState>,
        now: Time,
        cost: u64,
        _: Option<Handle<'_>>,
    ) -> Result<(), Overdrawn> {
        let (start, end) = self.around(now, body.as_ref());
        let count = body.as_ref().map_or(0, |body| body.count).saturating_add(cost);
        if count > MAX_COUNT {
            return Err(Overdrawn);
        }
        *body = Some(WindowState { start, end, count });
        Ok(())
    }

    fn give(&self, body: &mut Option<WindowState>, _: Time, cost: u64) {
        *body = body.take().and_then(|body| {
            let count = body.count.saturating_sub(cost);
            (count > 0).then_some(WindowState { count, ..body })
        });
    }

    fn refundable(&self, body: &WindowState, _: Time, taken: Taken<'_>) -> u64 {
        if body.contains(taken.at) { body.count } else { 0 }
    }

    fn charge_at(
        &self,
        body: &mut Option<WindowState>,
        now: Time,
        cost: u64,
        taken: Taken<'_>,
    ) -> Result<bool, Overdrawn> {
        let counts = match &self.alignment {
            Alignment::Request(length) => now < taken.at.after(*length),
            Alignment::Aligned(_) | Alignment::Calendar(_) => self.around(now, None).0 <= taken.at,
        };
        if !counts {
            return Ok(false);
        }
        // A request window that was closed since opens again when it did.
        let opens = if matches!(self.alignment, Alignment::Request(_)) && body.is_none() {
            taken.at
        } else {
            now
        };
        self.take(body, opens, cost, Some(taken.handle)).map(|()| true)
    }
}
