//! Drip: leaky-bucket, token-bucket `whole`, and legacy.
//!
//! **What it is.** A bucket that leaks `drip` units at once at every interval `every`, counted from
//! the moment an empty bucket was first filled. There is no background task: the drops that have
//! leaked are computed at each operation.
//!
//! **What it promises.** At most `size` at one instant, then `drip` more after each `every`.
//!
//! **What it costs.** Two numbers: the level, and the time of the last leak.

use super::counting::{Counting, MAX_COUNT, Taken};
use super::handle::Handle;
use super::pack::{Pack, Words};
use super::params::RuleParams;
use crate::error::Overdrawn;
use crate::time::{Span, Time};
use crate::wide::{floor_div, narrow, product, wide};

/// The leak: `drip` units at every interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Leak {
    pub(super) drip: u64,
    pub(super) every: Span,
}

/// A bucket of `size` with a leak.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Drip {
    size: u64,
    leak: Leak,
}

#[derive(Debug, Clone)]
pub(crate) struct DripState {
    level: u64,
    /// The time of the last leak, or when the empty bucket was first filled.
    since: Time,
    leak: Leak,
}

impl Drip {
    /// Creates a bucket. All three numbers are at least one.
    pub(crate) fn new(size: u64, drip: u64, every: Span) -> Drip {
        Drip { size, leak: Leak { drip, every } }
    }

    /// Returns `(size, drip, every)`.
    pub(crate) fn leak(&self) -> (u64, u64, Span) {
        (self.size, self.leak.drip, self.leak.every)
    }

    pub(super) fn params(&self) -> RuleParams {
        RuleParams::Drip { size: self.size, drip: self.leak.drip, every: self.leak.every }
    }
}

impl Leak {
    /// Returns how long `units` take to leak, counted from a leak.
    #[inline]
    fn drain_time(self, units: u64) -> Span {
        let drops = if self.drip <= 1 { units } else { units.div_ceil(self.drip) };
        self.every.times(drops)
    }
}

impl DripState {
    /// Returns the bucket with the leaks up to `now` applied.
    #[inline]
    fn drained(&self, now: Time) -> DripState {
        let drops = now.since(self.since).steps(self.leak.every);
        DripState {
            level: self.level.saturating_sub(drops.saturating_mul(self.leak.drip)),
            since: self.since.after(self.leak.every.times(drops)),
            leak: self.leak,
        }
    }

    /// Returns the same level with another leak. The elapsed share of the interval is kept, so that
    /// switching back and forth can neither delay a leak nor bring one forward.
    fn with_leak(self, leak: Leak, now: Time) -> DripState {
        if self.leak.every == leak.every {
            return DripState { leak, ..self };
        }
        let elapsed = product(now.since(self.since).as_micros(), leak.every.as_micros());
        let elapsed = narrow(floor_div(elapsed, wide(self.leak.every.as_micros())));
        let since = Time::at(now.as_micros().saturating_sub(elapsed));
        DripState { level: self.level, since, leak }
    }
}

impl Pack for Drip {
    type Terms = Leak;

    fn terms(&self) -> Leak {
        self.leak
    }

    #[inline]
    fn pack(state: &DripState) -> (Leak, Words) {
        (state.leak, [state.level, state.since.as_micros(), 0])
    }

    #[inline]
    fn unpack(leak: Leak, [level, since, _]: Words) -> Option<DripState> {
        Some(DripState { level, since: Time::at(since), leak })
    }
}

impl Counting for Drip {
    type State = DripState;

    fn capacity(&self) -> u64 {
        self.size
    }

    fn full_reset_after(&self) -> Span {
        self.leak.drain_time(self.size)
    }

    fn instant(state: &DripState) -> Time {
        state.since
    }

    #[inline]
    fn resets_at(state: &DripState) -> Time {
        state.since.after(state.leak.drain_time(state.level))
    }

    #[inline]
    fn headroom(&self, state: &DripState, now: Time) -> Option<u64> {
        self.size.checked_sub(state.drained(now).level)
    }

    #[inline]
    fn fits_at(&self, state: &DripState, now: Time, cost: u64) -> Time {
        let state = state.drained(now);
        let over = state.level.saturating_add(cost).saturating_sub(self.size);
        state.since.after(state.leak.drain_time(over))
    }

    #[inline]
    fn take(
        &self,
        state: &mut Option<DripState>,
        now: Time,
        cost: u64,
        _: Option<Handle>,
    ) -> Result<(), Overdrawn> {
        let empty = DripState { level: 0, since: now, leak: self.leak };
        let drained =
            state.as_ref().map_or(empty, |state| state.drained(now).with_leak(self.leak, now));
        let filled = DripState { level: drained.level.saturating_add(cost), ..drained };
        if filled.level > MAX_COUNT || Drip::resets_at(&filled).since(now) > Span::MAX {
            return Err(Overdrawn);
        }
        *state = Some(filled);
        Ok(())
    }

    fn refund(&self, state: &mut Option<DripState>, now: Time, cost: u64) {
        *state = state.take().and_then(|state| {
            let drained = state.drained(now);
            let level = drained.level.saturating_sub(cost);
            (level > 0).then_some(DripState { level, ..drained })
        });
    }

    fn refundable(&self, state: &DripState, now: Time, _: Taken) -> u64 {
        state.drained(now).level
    }
}
