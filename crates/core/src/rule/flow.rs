//! Flow: gcra and token-bucket.
//!
//! **What it is.** A bucket that drains evenly, `n` units in every `window`. A check adds its cost
//! and is allowed if the bucket does not overflow.
//!
//! **What it promises.** At most `capacity` at one instant, and `capacity + rate * elapsed` over
//! any period of time; exactly that for a client that sends all the time, however long it runs.
//!
//! **What it costs.** One number, the instant when the bucket will be empty. The time one unit
//! takes to drain is kept as a fraction, so that nothing drifts.

use std::num::Saturating;

use super::counting::{Counting, MAX_COUNT, Taken};
use super::handle::Handle;
use super::pack::{Pack, Words};
use super::params::RuleParams;
use crate::decision::LimitStatus;
use crate::error::Overdrawn;
use crate::time::{Span, Time};
use crate::wide::{Wide, ceil_div, floor_div, gcd, mul_div_up, narrow, product, wide};

/// The time one unit takes to drain: `ticks / parts`, in lowest terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pace {
    pub(super) ticks: u64,
    pub(super) parts: u64,
}

/// A bucket of `capacity` that drains at a pace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flow {
    capacity: u64,
    pace: Pace,
}

#[derive(Debug, Clone)]
pub(crate) struct FlowState {
    /// When the bucket will be empty, in `1 / pace.parts` of a tick.
    empty_at: Wide,
    pace: Pace,
}

impl Flow {
    /// Creates a bucket that drains `n` units in every `window`; both are at least one.
    pub(crate) fn new(n: u64, window: Span, capacity: u64) -> Flow {
        let common = gcd(window.as_micros(), n);
        let reduced = |x: u64| x.checked_div(common).unwrap_or(x);
        Flow { capacity, pace: Pace { ticks: reduced(window.as_micros()), parts: reduced(n) } }
    }

    pub(super) fn params(&self) -> RuleParams {
        let Pace { ticks, parts } = self.pace;
        RuleParams::Flow { capacity: self.capacity, ticks, parts }
    }

    pub(super) fn at(pace: Pace, capacity: u64) -> Flow {
        Flow { capacity, pace }
    }

    /// Checks in 64-bit numbers, which are enough for nearly all limits. Both `word`, the instant when the bucket will
    /// be empty, and `now` are counted from the same origin. Returns whether it is allowed, the numbers, and the new
    /// word; `None` if 64 bits are not enough.
    #[inline(always)]
    pub(super) fn check_word(
        &self,
        word: u64,
        now: Span,
        cost: u64,
    ) -> Option<(bool, LimitStatus, u64)> {
        let level = self.level(word, now, cost)?;
        let (status, word) = self.update(&level, word, cost, level.fits())?;
        Some((level.fits(), status, word))
    }

    /// Returns whether [`check_word`](Flow::check_word) would allow it.
    #[inline(always)]
    pub(super) fn fits_word(&self, word: u64, now: Span, cost: u64) -> Option<bool> {
        Some(self.level(word, now, cost)?.fits())
    }

    /// Takes the cost, if it `takes` anything. Returns the numbers and the new word.
    #[inline(always)]
    pub(super) fn update_word(
        &self,
        word: u64,
        now: Span,
        cost: u64,
        takes: bool,
    ) -> Option<(LimitStatus, u64)> {
        self.update(&self.level(word, now, cost)?, word, cost, takes)
    }

    #[inline(always)]
    fn level(&self, word: u64, now: Span, cost: u64) -> Option<Level> {
        let Pace { ticks, parts } = self.pace;
        let now = now.as_micros().checked_mul(parts)?;
        let full = self.capacity.checked_mul(ticks)?;
        let weight = cost.checked_mul(ticks)?;
        let before = word.saturating_sub(now);
        Some(Level { now, full, weight, before, after: before.checked_add(weight)? })
    }

    #[inline(always)]
    fn update(
        &self,
        level: &Level,
        word: u64,
        cost: u64,
        takes: bool,
    ) -> Option<(LimitStatus, u64)> {
        let Pace { ticks, parts } = self.pace;
        let Level { now, full, weight, before, after } = *level;
        let left = if takes { after } else { before };
        let over = left.checked_add(weight)?.saturating_sub(full);
        let to_span = |in_parts: u64| {
            Span::from_micros(if parts == 1 { in_parts } else { in_parts.div_ceil(parts) })
        };
        let room = full.saturating_sub(left);
        let status = LimitStatus {
            limit: Some(self.capacity),
            // A denied key has no room, and a division takes as long as all the rest.
            remaining: if room < ticks { Some(0) } else { room.checked_div(ticks) },
            retry_after: (cost <= self.capacity).then(|| to_span(over)),
            reset_after: to_span(left),
        };
        Some((status, if takes { now.checked_add(left)? } else { word }))
    }
}

/// The level of a bucket, in parts of a tick and in 64-bit numbers. Nothing but the numbers differs from what
/// [`Counting`] does, which is slower; tests hold it to the same decisions.
struct Level {
    now: u64,
    full: u64,
    weight: u64,
    before: u64,
    after: u64,
}

impl Level {
    #[inline(always)]
    fn fits(&self) -> bool {
        self.after <= self.full
    }
}

impl Pace {
    /// Converts an instant to parts of a tick.
    fn parts_at(self, now: Time) -> Wide {
        product(now.as_micros(), self.parts)
    }

    /// Converts an instant in parts of a tick to ticks, rounded up.
    fn tick_of(self, parts: Wide) -> Time {
        // Most limits drain one unit in whole ticks, and a division takes as long as all the rest.
        let ticks = if self.parts == 1 { parts } else { ceil_div(parts, wide(self.parts)) };
        Time::at(narrow(ticks))
    }

    /// Returns the instant in the words, in parts of a tick counted from `origin`.
    #[inline]
    pub(super) fn word_since(self, origin: Time, [low, high, _]: Words) -> Option<u64> {
        let from = join(low, high).0.checked_sub(self.parts_at(origin).0)?;
        u64::try_from(from).ok()
    }

    /// Returns the words for the result of [`word_since`](Pace::word_since).
    #[inline]
    pub(super) fn words_at(self, origin: Time, word: u64) -> Words {
        split(self.parts_at(origin) + wide(word))
    }

    /// Returns whether the bucket of the word is not yet empty `since` its origin.
    #[inline]
    pub(super) fn word_lasts(self, word: u64, since: Span) -> bool {
        product(since.as_micros(), self.parts) < wide(word)
    }

    /// Returns how many parts of a tick this many units take to drain.
    fn drain_time(self, units: u64) -> Wide {
        product(units, self.ticks)
    }
}

impl FlowState {
    /// Returns how long the bucket still takes to drain, in parts of a tick.
    fn left(&self, now: Time) -> Wide {
        self.empty_at - self.pace.parts_at(now)
    }

    /// Converts the level to another pace. Rounds up, so that used cost is never forgotten.
    fn at_pace(&self, pace: Pace, now: Time) -> Wide {
        if self.pace == pace {
            return self.left(now);
        }
        mul_div_up(self.left(now), wide(pace.ticks), wide(self.pace.ticks))
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the two halves")]
fn split(value: Wide) -> Words {
    [value.0 as u64, (value.0 >> 64) as u64, 0]
}

#[inline]
fn join(low: u64, high: u64) -> Wide {
    Saturating(u128::from(high) << 64 | u128::from(low))
}

impl Pack for Flow {
    type Terms = Pace;

    #[inline]
    fn terms(&self) -> Pace {
        self.pace
    }

    #[inline]
    fn pack(state: &FlowState) -> (Pace, Words) {
        (state.pace, split(state.empty_at))
    }

    #[inline]
    fn unpack(pace: Pace, [low, high, _]: Words) -> Option<FlowState> {
        Some(FlowState { empty_at: join(low, high), pace })
    }
}

impl Counting for Flow {
    type State = FlowState;

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn full_reset_after(&self) -> Span {
        let full = self.pace.drain_time(self.capacity);
        Span::from_micros(narrow(ceil_div(full, wide(self.pace.parts))))
    }

    /// There is none: the instant of emptiness does not depend on when it is looked at.
    fn instant(_: &FlowState) -> Time {
        Time::EPOCH
    }

    fn resets_at(state: &FlowState) -> Time {
        state.pace.tick_of(state.empty_at)
    }

    fn headroom(&self, state: &FlowState, now: Time) -> Option<u64> {
        let full = state.pace.drain_time(self.capacity);
        let left = state.left(now);
        (left <= full).then(|| narrow(floor_div(full - left, wide(state.pace.ticks))))
    }

    fn fits_at(&self, state: &FlowState, _: Time, cost: u64) -> Time {
        let room = state.pace.drain_time(self.capacity.saturating_sub(cost));
        state.pace.tick_of(state.empty_at - room)
    }

    fn take(
        &self,
        state: &mut Option<FlowState>,
        now: Time,
        cost: u64,
        _: Option<Handle>,
    ) -> Result<(), Overdrawn> {
        let used = state.as_ref().map_or(wide(0), |state| state.at_pace(self.pace, now));
        let left = used + self.pace.drain_time(cost);
        let longest = product(Span::MAX.as_micros(), self.pace.parts);
        if left > longest.min(self.pace.drain_time(MAX_COUNT)) {
            return Err(Overdrawn);
        }
        *state = Some(FlowState { empty_at: self.pace.parts_at(now) + left, pace: self.pace });
        Ok(())
    }

    fn refund(&self, state: &mut Option<FlowState>, now: Time, cost: u64) {
        *state = state.take().and_then(|FlowState { empty_at, pace }| {
            let empty_at = empty_at - pace.drain_time(cost);
            (empty_at > pace.parts_at(now)).then_some(FlowState { empty_at, pace })
        });
    }

    fn refundable(&self, state: &FlowState, now: Time, _: Taken) -> u64 {
        narrow(floor_div(state.left(now), wide(state.pace.ticks)))
    }
}
