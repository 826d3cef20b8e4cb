//! Window: fixed-window and request-window.
//!
//! **What it is.** One counter that restarts with every window. Fixed windows are aligned to the
//! clock or the calendar; a request window opens with the first request.
//!
//! **What it promises.** At most `capacity` in each window. Around the boundary of two windows it
//! can be twice that within an instant: all of one at its end, all of the next at its start.
//!
//! **What it costs.** One counter and the bounds of its window.

use super::calendar::Calendar;
use super::counting::{Counting, MAX_COUNT, Taken};
use super::handle::Handle;
use super::pack::{Pack, Words};
use super::params::RuleParams;
use crate::error::Overdrawn;
use crate::time::{Span, Time};

/// How windows are aligned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Alignment {
    /// Back to back from the epoch.
    Aligned(Span),
    /// Days, weeks, months or years of a time zone.
    Calendar(Calendar),
    /// From the first request.
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
    /// Creates a window rule. The length of a window is at least one tick.
    pub(crate) fn new(capacity: u64, alignment: Alignment) -> Window {
        Window { capacity, alignment }
    }

    pub(crate) fn alignment(&self) -> &Alignment {
        &self.alignment
    }

    pub(super) fn params(&self) -> RuleParams {
        let capacity = self.capacity;
        match self.alignment {
            Alignment::Aligned(window) => RuleParams::Aligned { capacity, window },
            Alignment::Request(window) => RuleParams::Request { capacity, window },
            Alignment::Calendar(_) => RuleParams::Calendar { capacity },
        }
    }

    /// Returns the bounds of the window that an operation at `now` counts in.
    fn bounds_at(&self, now: Time, open: Option<&WindowState>) -> (Time, Time) {
        match &self.alignment {
            Alignment::Aligned(length) => {
                let start = now.floor_to(*length);
                (start, start.after(*length))
            }
            Alignment::Calendar(calendar) => calendar.bounds_at(now),
            Alignment::Request(length) => {
                let start =
                    open.map(|state| state.start).filter(|start| now < start.after(*length));
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

/// A window's state holds its own bounds, so it has no terms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct WindowTerms;

impl Pack for Window {
    type Terms = WindowTerms;

    fn terms(&self) -> WindowTerms {
        WindowTerms
    }

    #[inline]
    fn pack(state: &WindowState) -> (WindowTerms, Words) {
        (WindowTerms, [state.count, state.start.as_micros(), state.end.as_micros()])
    }

    #[inline]
    fn unpack(_: WindowTerms, [count, start, end]: Words) -> Option<WindowState> {
        Some(WindowState { start: Time::at(start), end: Time::at(end), count })
    }
}

impl Counting for Window {
    type State = WindowState;

    fn capacity(&self) -> u64 {
        self.capacity
    }

    /// This is the greatest length of a window.
    fn full_reset_after(&self) -> Span {
        match &self.alignment {
            Alignment::Aligned(length) | Alignment::Request(length) => *length,
            Alignment::Calendar(calendar) => calendar.max_length(),
        }
    }

    fn instant(state: &WindowState) -> Time {
        state.start
    }

    fn resets_at(state: &WindowState) -> Time {
        state.end
    }

    fn headroom(&self, state: &WindowState, _: Time) -> Option<u64> {
        self.capacity.checked_sub(state.count)
    }

    fn fits_at(&self, state: &WindowState, _: Time, _: u64) -> Time {
        state.end
    }

    /// If the length was changed, all that still counts moves into the current window.
    fn take(
        &self,
        state: &mut Option<WindowState>,
        now: Time,
        cost: u64,
        _: Option<Handle>,
    ) -> Result<(), Overdrawn> {
        let (start, end) = self.bounds_at(now, state.as_ref());
        let count = state.as_ref().map_or(0, |state| state.count).saturating_add(cost);
        if count > MAX_COUNT {
            return Err(Overdrawn);
        }
        *state = Some(WindowState { start, end, count });
        Ok(())
    }

    fn refund(&self, state: &mut Option<WindowState>, _: Time, cost: u64) {
        *state = state.take().and_then(|state| {
            let count = state.count.saturating_sub(cost);
            (count > 0).then_some(WindowState { count, ..state })
        });
    }

    fn refundable(&self, state: &WindowState, _: Time, taken: Taken) -> u64 {
        if state.contains(taken.at) { state.count } else { 0 }
    }

    fn charge_at(
        &self,
        state: &mut Option<WindowState>,
        now: Time,
        cost: u64,
        taken: Taken,
    ) -> Result<bool, Overdrawn> {
        let counts = match &self.alignment {
            Alignment::Request(length) => now < taken.at.after(*length),
            Alignment::Aligned(_) | Alignment::Calendar(_) => {
                self.bounds_at(now, None).0 <= taken.at
            }
        };
        if !counts {
            return Ok(false);
        }
        // A request window that was closed since reopens at the instant it opened before.
        let at = if matches!(self.alignment, Alignment::Request(_)) && state.is_none() {
            taken.at
        } else {
            now
        };
        self.take(state, at, cost, Some(taken.handle)).map(|()| true)
    }
}
