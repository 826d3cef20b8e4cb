//! Estimate: sliding-window.
//!
//! **What it is.** Two counters, of this window and the one before. The requests of the last window
//! are assumed to have been spread evenly, so that their share shrinks as this window goes on.
//!
//! **What it promises.** Never more than `capacity` by this estimate. If the last window's requests
//! came all at once, the true count in some window may be higher, at most twice as high.
//!
//! **What it costs.** Two counters and the start of a window, whatever the limit.

use super::counting::{Counting, MAX_COUNT, Taken};
use super::handle::Handle;
use super::pack::{Pack, Words};
use super::params::RuleParams;
use crate::error::Overdrawn;
use crate::time::{Span, Time};
use crate::wide::{Wide, ceil_div, floor_div, narrow, product, wide};

/// At most `capacity` by estimate in any `window`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Estimate {
    capacity: u64,
    window: Span,
}

#[derive(Debug, Clone)]
pub(crate) struct EstimateState {
    /// When the window of `count` began.
    start: Time,
    window: Span,
    /// The count of the window before.
    last: u64,
    /// The count of this window.
    count: u64,
}

impl Estimate {
    pub(crate) fn new(capacity: u64, window: Span) -> Estimate {
        Estimate { capacity, window }
    }

    pub(super) fn params(&self) -> RuleParams {
        RuleParams::Estimate { capacity: self.capacity, window: self.window }
    }

    fn fresh(&self, now: Time) -> EstimateState {
        EstimateState { start: now.floor_to(self.window), window: self.window, last: 0, count: 0 }
    }
}

impl EstimateState {
    fn end(&self) -> Time {
        self.start.after(self.window)
    }

    /// Returns the counters as of the window of `now`.
    fn rolled(&self, now: Time) -> EstimateState {
        if now < self.end() {
            return self.clone();
        }
        EstimateState { start: self.end(), window: self.window, last: self.count, count: 0 }
    }

    /// Returns the weighted count of the last window, times the length of the window.
    fn carried(&self, now: Time) -> Wide {
        product(self.last, self.end().since(now).as_micros())
    }

    fn used(&self, now: Time) -> u64 {
        let carried = ceil_div(self.carried(now), wide(self.window.as_micros()));
        narrow(carried).saturating_add(self.count)
    }

    /// Returns the counter of the window that contains `at`, if it is one of the two.
    fn counter_at(&mut self, at: Time) -> Option<&mut u64> {
        if at >= self.end() {
            None
        } else if at >= self.start {
            Some(&mut self.count)
        } else if at.after(self.window) >= self.start {
            Some(&mut self.last)
        } else {
            None
        }
    }

    fn or_none(self) -> Option<EstimateState> {
        (self.last > 0 || self.count > 0).then_some(self)
    }
}

impl Pack for Estimate {
    type Terms = Span;

    fn terms(&self) -> Span {
        self.window
    }

    #[inline]
    fn pack(state: &EstimateState) -> (Span, Words) {
        (state.window, [state.start.as_micros(), state.last, state.count])
    }

    #[inline]
    fn unpack(window: Span, [start, last, count]: Words) -> Option<EstimateState> {
        Some(EstimateState { start: Time::at(start), window, last, count })
    }
}

impl Counting for Estimate {
    type State = EstimateState;

    fn capacity(&self) -> u64 {
        self.capacity
    }

    /// A count weighs in its own window and in the next.
    fn full_reset_after(&self) -> Span {
        self.window.times(2)
    }

    fn instant(state: &EstimateState) -> Time {
        state.start
    }

    fn resets_at(state: &EstimateState) -> Time {
        if state.count > 0 { state.end().after(state.window) } else { state.end() }
    }

    fn headroom(&self, state: &EstimateState, now: Time) -> Option<u64> {
        self.capacity.checked_sub(state.rolled(now).used(now))
    }

    fn fits_at(&self, state: &EstimateState, now: Time, cost: u64) -> Time {
        let state = state.rolled(now);
        let window = state.window.as_micros();
        // How long before the end of a window the count before it weighs no more than `room`.
        let lead_time = |room: u64, last: u64| {
            Span::from_micros(narrow(floor_div(product(room, window), wide(last))).min(window))
        };
        let room = self.capacity.saturating_sub(cost);
        let (end, before) = match room.checked_sub(state.count) {
            Some(room) => (state.end(), lead_time(room, state.last)),
            None => (state.end().after(state.window), lead_time(room, state.count)),
        };
        Time::at(end.as_micros().saturating_sub(before.as_micros()))
    }

    /// If the window was changed, all that still counts moves into the current window.
    fn take(
        &self,
        state: &mut Option<EstimateState>,
        now: Time,
        cost: u64,
        _: Option<Handle>,
    ) -> Result<(), Overdrawn> {
        let mut next = match state.as_ref().map(|state| state.rolled(now)) {
            Some(state) if state.window == self.window => state,
            Some(state) => EstimateState { count: state.used(now), ..self.fresh(now) },
            None => self.fresh(now),
        };
        next.count = next.count.saturating_add(cost);
        if next.count > MAX_COUNT {
            return Err(Overdrawn);
        }
        *state = Some(next);
        Ok(())
    }

    fn refund(&self, state: &mut Option<EstimateState>, now: Time, cost: u64) {
        *state = state.take().and_then(|state| {
            let mut state = state.rolled(now);
            let rest = cost.saturating_sub(state.count);
            state.count = state.count.saturating_sub(cost);
            state.last = state.last.saturating_sub(rest);
            state.or_none()
        });
    }

    fn refundable(&self, state: &EstimateState, now: Time, taken: Taken) -> u64 {
        state.rolled(now).counter_at(taken.at).map_or(0, |counter| *counter)
    }

    fn overlap(&self, cost: u64, taken: Taken, other: Taken) -> u64 {
        let window = |taken: Taken| taken.at.floor_to(self.window);
        if window(taken) == window(other) { cost } else { 0 }
    }

    fn refund_at(
        &self,
        state: &mut Option<EstimateState>,
        now: Time,
        cost: u64,
        taken: Taken,
    ) -> bool {
        *state = state.take().and_then(|state| {
            let mut state = state.rolled(now);
            if let Some(counter) = state.counter_at(taken.at) {
                *counter = counter.saturating_sub(cost);
            }
            state.or_none()
        });
        true
    }

    fn charge_at(
        &self,
        state: &mut Option<EstimateState>,
        now: Time,
        cost: u64,
        taken: Taken,
    ) -> Result<bool, Overdrawn> {
        let mut next = state.as_ref().map_or_else(|| self.fresh(now), |state| state.rolled(now));
        let Some(counter) = next.counter_at(taken.at) else {
            return Ok(false);
        };
        *counter = counter.saturating_add(cost);
        if *counter > MAX_COUNT {
            return Err(Overdrawn);
        }
        *state = Some(next);
        Ok(true)
    }
}
