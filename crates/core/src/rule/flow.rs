//! Flow: gcra and token-bucket.
//!
//! **What it is.** A bucket whose water sinks evenly, `n` units in every `window`. A check pours
//! its cost in and passes if the bucket does not run over.
//!
//! **What it promises.** At most `capacity` at one instant, and `capacity + rate * elapsed` over
//! any stretch of time; exactly that for a client that always asks, however long it runs.
//!
//! **What it costs.** One number, the instant when the bucket will be empty. The time one unit
//! takes to sink is a fraction, kept as one, so that nothing drifts.

use super::packed::{Pack, Under, Words};
use super::{Counting, Handle, MAX_COUNT, Taken};
use std::num::Saturating;

use crate::decision::LimitStatus;
use crate::error::Overdrawn;
use crate::remote::RuleParams;
use crate::time::{Span, Time};
use crate::wide::{Wide, ceil_div, floor_div, gcd, mul_div_up, narrow, product, wide};

/// The time one unit takes to sink: `ticks / parts`, in lowest terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pace {
    pub(super) ticks: u64,
    pub(super) parts: u64,
}

/// A bucket of `capacity` that sinks at a pace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flow {
    capacity: u64,
    pace: Pace,
}

#[derive(Debug, Clone)]
pub(crate) struct FlowState {
    /// When the bucket will be empty, in `1 / pace.parts` of a tick.
    empty: Wide,
    pace: Pace,
}

impl Flow {
    /// `n` units sink in every `window`; both are at least one.
    pub(crate) fn new(n: u64, window: Span, capacity: u64) -> Flow {
        let common = gcd(window.as_micros(), n);
        let over = |x: u64| x.checked_div(common).unwrap_or(x);
        Flow { capacity, pace: Pace { ticks: over(window.as_micros()), parts: over(n) } }
    }
}

impl Flow {
    pub(crate) fn params(&self) -> RuleParams {
        let Pace { ticks, parts } = self.pace;
        RuleParams::Flow { capacity: self.capacity, ticks, parts }
    }

    /// A bucket of that capacity at this pace.
    pub(super) fn at(pace: Pace, capacity: u64) -> Flow {
        Flow { capacity, pace }
    }

    #[inline]
    pub(super) fn has(&self, pace: Pace) -> bool {
        self.pace == pace
    }

    /// A check in numbers of 64 bits, which are enough for nearly all limits: both the instant of
    /// emptiness, `word`, and now are counted from the same origin. Answers whether it passed, the
    /// numbers, and the word it leaves; `None` if 64 bits are not enough.
    #[inline(always)]
    pub(super) fn check_word(
        &self,
        word: u64,
        now: Span,
        cost: u64,
    ) -> Option<(bool, LimitStatus, u64)> {
        let Pace { ticks, parts } = self.pace;
        let now = now.as_micros().checked_mul(parts)?;
        let full = self.capacity.checked_mul(ticks)?;
        let weight = cost.checked_mul(ticks)?;
        let before = word.saturating_sub(now);
        let after = before.checked_add(weight)?;
        let allowed = after <= full;
        let left = if allowed { after } else { before };
        let over = left.checked_add(weight)?.saturating_sub(full);
        let spans = |parts_of: u64| {
            Span::from_micros(if parts == 1 { parts_of } else { parts_of.div_ceil(parts) })
        };
        let room = full.saturating_sub(left);
        let answer = LimitStatus {
            limit: Some(self.capacity),
            // A key that is denied has no room, and dividing costs as much as all the rest.
            remaining: if room < ticks { Some(0) } else { room.checked_div(ticks) },
            retry_after: (cost <= self.capacity).then(|| spans(over)),
            reset_after: spans(left),
        };
        Some((allowed, answer, if allowed { now.checked_add(left)? } else { word }))
    }
}

impl Pace {
    /// The instant in parts of a tick.
    fn parts_at(self, now: Time) -> Wide {
        product(now.as_micros(), self.parts)
    }

    /// The first tick that is not before the instant given in parts.
    fn tick_of(self, parts: Wide) -> Time {
        // Most limits sink in whole ticks, and dividing costs as much as all the rest.
        let ticks = if self.parts == 1 { parts } else { ceil_div(parts, wide(self.parts)) };
        Time::at(narrow(ticks))
    }

    /// The instant of emptiness that the words say, in parts of a tick from `origin` on.
    #[inline]
    pub(super) fn word_since(self, origin: Time, [low, high, _]: Words) -> Option<u64> {
        let from = join(low, high).0.checked_sub(self.parts_at(origin).0)?;
        u64::try_from(from).ok()
    }

    /// The words that say what [`word_since`](Pace::word_since) told.
    #[inline]
    pub(super) fn words_at(self, origin: Time, word: u64) -> Words {
        split(self.parts_at(origin) + wide(word))
    }

    /// Whether the water that the word tells of is still there so long after its origin.
    #[inline]
    pub(super) fn word_lasts(self, word: u64, since: Span) -> bool {
        product(since.as_micros(), self.parts) < wide(word)
    }

    /// How many parts of a tick this much water takes to sink.
    fn sinks_in(self, units: u64) -> Wide {
        product(units, self.ticks)
    }
}

impl FlowState {
    /// How long the water still takes to sink, in parts of a tick.
    fn left(&self, now: Time) -> Wide {
        self.empty - self.pace.parts_at(now)
    }

    /// The same water at another pace. Rounded up: what is used is never forgotten.
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
    #[inline]
    fn terms(&self) -> Under {
        Under::Flow(self.pace)
    }

    #[inline]
    fn pack(body: &FlowState) -> (Under, Words) {
        (Under::Flow(body.pace), split(body.empty))
    }

    #[inline]
    fn unpack(under: Under, [low, high, _]: Words) -> Option<FlowState> {
        if let Under::Flow(pace) = under {
            Some(FlowState { empty: join(low, high), pace })
        } else {
            None
        }
    }
}

impl Counting for Flow {
    type Body = FlowState;

    fn capacity(&self) -> u64 {
        self.capacity
    }

    /// How long a full bucket takes to sink, rounded up.
    fn full_reset_after(&self) -> Span {
        let full = self.pace.sinks_in(self.capacity);
        Span::from_micros(narrow(ceil_div(full, wide(self.pace.parts))))
    }

    /// None: an instant of emptiness means the same whenever it is looked at.
    fn instant(_: &FlowState) -> Time {
        Time::EPOCH
    }

    fn resets(body: &FlowState) -> Time {
        body.pace.tick_of(body.empty)
    }

    fn headroom(&self, body: &FlowState, now: Time) -> Option<u64> {
        let full = body.pace.sinks_in(self.capacity);
        let left = body.left(now);
        (left <= full).then(|| narrow(floor_div(full - left, wide(body.pace.ticks))))
    }

    fn fits_at(&self, body: &FlowState, _: Time, cost: u64) -> Time {
        let room = body.pace.sinks_in(self.capacity.saturating_sub(cost));
        body.pace.tick_of(body.empty - room)
    }

    fn take(
        &self,
        body: &mut Option<FlowState>,
        now: Time,
        cost: u64,
        _: Option<Handle<'_>>,
    ) -> Result<(), Overdrawn> {
        let used = body.as_ref().map_or(wide(0), |body| body.at_pace(self.pace, now));
        let left = used + self.pace.sinks_in(cost);
        let longest = product(Span::MAX.as_micros(), self.pace.parts);
        if left > longest.min(self.pace.sinks_in(MAX_COUNT)) {
            return Err(Overdrawn);
        }
        *body = Some(FlowState { empty: self.pace.parts_at(now) + left, pace: self.pace });
        Ok(())
    }

    fn give(&self, body: &mut Option<FlowState>, now: Time, cost: u64) {
        *body = body.take().and_then(|FlowState { empty, pace }| {
            let empty = empty - pace.sinks_in(cost);
            (empty > pace.parts_at(now)).then_some(FlowState { empty, pace })
        });
    }

    fn refundable(&self, body: &FlowState, now: Time, _: Taken<'_>) -> u64 {
        narrow(floor_div(body.left(now), wide(body.pace.ticks)))
    }
}
