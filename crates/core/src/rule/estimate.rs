//! Estimate: sliding-window.
//!
//! **What it is.** Two counters, of this window and the one before. What was counted in the last
//! window is taken to have come evenly, so that its share shrinks as this window goes on.
//!
//! **What it promises.** Never more than `capacity` by its own reckoning. If the last window's
//! requests came in a lump, the true count in some window may be higher, at most twice as high.
//!
//! **What it costs.** Two counters and the start of a window, whatever the limit.

use super::packed::{Pack, Under, Words};
use super::{Counting, Handle, MAX_COUNT, Taken};
use crate::error::Overdrawn;
use crate::remote::RuleParams;
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
    /// Counted in the window before.
    last: u64,
    /// Counted in this one.
    count: u64,
}

impl Estimate {
    pub(crate) fn new(capacity: u64, window: Span) -> Estimate {
        Estimate { capacity, window }
    }

    pub(crate) fn params(&self) -> RuleParams {
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

    /// The same counters seen from the window of `now`.
    fn rolled(&self, now: Time) -> EstimateState {
        if now < self.end() {
            return self.clone();
        }
        EstimateState { start: self.end(), window: self.window, last: self.count, count: 0 }
    }

    /// What the last window still weighs, times the window.
    fn carried(&self, now: Time) -> Wide {
        product(self.last, self.end().since(now).as_micros())
    }

    fn used(&self, now: Time) -> u64 {
        let carried = ceil_div(self.carried(now), wide(self.window.as_micros()));
        narrow(carried).saturating_add(self.count)
    }

    /// The counter of the window that holds `at`, if it is one of the two.
    fn counter_of(&mut self, at: Time) -> Option<&mut u64> {
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
    fn terms(&self) -> Under {
        Under::Estimate(self.window)
    }

    #[inline]
    fn pack(body: &EstimateState) -> (Under, Words) {
        (Under::Estimate(body.window), [body.start.as_micros(), body.last, body.count])
    }

    #[inline]
    fn unpack(under: Under, [start, last, count]: Words) -> Option<EstimateState> {
        let Under::Estimate(window) = under else { return None };
        Some(EstimateState { start: Time::at(start), window, last, count })
    }
}

impl Counting for Estimate {
    type Body = EstimateState;

    fn capacity(&self) -> u64 {
        self.capacity
    }

    /// How long a count weighs: in its own window, and in the next.
    fn full_reset_after(&self) -> Span {
        self.window.times(2)
    }

    fn instant(body: &EstimateState) -> Time {
        body.start
    }

    fn resets(body: &EstimateState) -> Time {
        if body.count > 0 { body.end().after(body.window) } else { body.end() }
    }

    fn headroom(&self, body: &EstimateState, now: Time) -> Option<u64> {
        self.capacity.checked_sub(body.rolled(now).used(now))
    }

    fn fits_at(&self, body: &EstimateState, now: Time, cost: u64) -> Time {
        let body = body.rolled(now);
        let window = body.window.as_micros();
        // How long before the end of a window its predecessor weighs no more than `room`.
        let weighs = |room: u64, last: u64| {
            Span::from_micros(narrow(floor_div(product(room, window), wide(last))).min(window))
        };
        let room = self.capacity.saturating_sub(cost);
        let (end, before) = match room.checked_sub(body.count) {
            Some(room) => (body.end(), weighs(room, body.last)),
            None => (body.end().after(body.window), weighs(room, body.count)),
        };
        Time::at(end.as_micros().saturating_sub(before.as_micros()))
    }

    /// Where the window was changed, all that still counts moves into the window of now.
    fn take(
        &self,
        body: &mut Option<EstimateState>,
        now: Time,
        cost: u64,
        _: Option<Handle<'_>>,
    ) -> Result<(), Overdrawn> {
        let mut next = match body.as_ref().map(|body| body.rolled(now)) {
            Some(body) if body.window == self.window => body,
            Some(body) => EstimateState { count: body.used(now), ..self.fresh(now) },
            None => self.fresh(now),
        };
        next.count = next.count.saturating_add(cost);
        if next.count > MAX_COUNT {
            return Err(Overdrawn);
        }
        *body = Some(next);
        Ok(())
    }

    fn give(&self, body: &mut Option<EstimateState>, now: Time, cost: u64) {
        *body = body.take().and_then(|body| {
            let mut body = body.rolled(now);
            let rest = cost.saturating_sub(body.count);
            body.count = body.count.saturating_sub(cost);
            body.last = body.last.saturating_sub(rest);
            body.or_none()
        });
    }

    fn refundable(&self, body: &EstimateState, now: Time, taken: Taken<'_>) -> u64 {
        body.rolled(now).counter_of(taken.at).map_or(0, |counter| *counter)
    }

    fn overlap(&self, cost: u64, taken: Taken<'_>, other: Taken<'_>) -> u64 {
        let window = |taken: Taken<'_>| taken.at.floor_to(self.window);
        if window(taken) == window(other) { cost } else { 0 }
    }

    fn give_back(
        &self,
        body: &mut Option<EstimateState>,
        now: Time,
        cost: u64,
        taken: Taken<'_>,
    ) -> bool {
        *body = body.take().and_then(|body| {
            let mut body = body.rolled(now);
            if let Some(counter) = body.counter_of(taken.at) {
                *counter = counter.saturating_sub(cost);
            }
            body.or_none()
        });
        true
    }

    fn charge_at(
        &self,
        body: &mut Option<EstimateState>,
        now: Time,
        cost: u64,
        taken: Taken<'_>,
    ) -> Result<bool, Overdrawn> {
        let mut next = body.as_ref().map_or_else(|| self.fresh(now), |body| body.rolled(now));
        let Some(counter) = next.counter_of(taken.at) else {
            return Ok(false);
        };
        *counter = counter.saturating_add(cost);
        if *counter > MAX_COUNT {
            return Err(Overdrawn);
        }
        *body = Some(next);
        Ok(true)
    }
}
