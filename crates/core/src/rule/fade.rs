//! Fade: ar1.
//!
//! **What it is.** A level that is divided by `decay` at every `resolution`, so that a request
//! weighs less the longer ago it was. A level below a millionth of `max` counts as zero.
//!
//! **What it promises.** The decayed sum never exceeds `max`. It is an exponential average, not a
//! count in a window: a steady client settles at `max * (1 - 1/decay)` for each `resolution`.
//!
//! **What it costs.** One double and one instant. Doubles are used with `* / +` only and in a fixed
//! order, so that every store agrees to the last bit.

use std::ops::RangeInclusive;

use super::counting::{Counting, MAX_COUNT, Taken};
use super::handle::Handle;
use super::pack::{Pack, Words};
use super::params::RuleParams;
use crate::error::Overdrawn;
use crate::time::{Span, Time};

/// What a level of ar1 may be divided by at each step. A level from a damaged store that is divided by less could
/// take for ever to fade.
pub const FADE_DECAY: RangeInclusive<f64> = 1.001..=4_294_967_295.0;
/// Below what a level of ar1 may count as zero: a millionth of its `max`.
pub const FADE_FLOOR: RangeInclusive<f64> = 1e-6..=1.0;

/// How a level decays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fading {
    decay: f64,
    resolution: Span,
    /// A level below this counts as zero.
    floor: f64,
    /// One over the natural logarithm of `decay`. It is used only for guesses.
    inverse_ln: f64,
}

/// A decaying level of at most `max`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fade {
    max: f64,
    fading: Fading,
}

#[derive(Debug, Clone)]
pub(crate) struct FadeState {
    level: f64,
    /// The start of the step in which the level was written.
    since: Time,
    /// When the level falls below the floor; computed once at each write.
    resets_at: Time,
    fading: Fading,
}

/// Returns `decay` to the power of `steps`, multiplied in the order that every store uses.
fn power(decay: f64, mut steps: u64) -> f64 {
    let (mut product, mut base) = (1.0, decay);
    while steps > 0 {
        if steps % 2 == 1 {
            product *= base;
        }
        base *= base;
        steps /= 2;
    }
    product
}

/// Returns the least number of steps for which `enough` holds, given that it holds from there on.
/// The search starts at a guess, which is nearly always right, so that two calls are enough.
fn first_step(guess: u64, enough: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high, mut stride) = (guess, guess, 1_u64);
    if enough(guess) {
        while low > 0 && low == high {
            low = high.saturating_sub(stride);
            if enough(low) {
                high = low;
                stride = stride.saturating_mul(2);
            } else {
                low = low.saturating_add(1);
                break;
            }
        }
    } else {
        while !enough(high) && high < u64::MAX {
            low = high.saturating_add(1);
            high = high.saturating_add(stride);
            stride = stride.saturating_mul(2);
        }
    }
    while low < high {
        let middle = low.midpoint(high);
        if enough(middle) {
            high = middle;
        } else {
            low = middle.saturating_add(1);
        }
    }
    high
}

/// Returns whether a number from a store can be a level.
fn is_level(level: f64) -> bool {
    (0.0..=float(MAX_COUNT)).contains(&level)
}

/// Converts a signed number, for which processors have an instruction.
#[expect(clippy::cast_precision_loss, reason = "costs and counts stay below 2^52")]
pub(super) fn float(count: u64) -> f64 {
    count.cast_signed() as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates, and rounds down, as it should"
)]
pub(super) fn whole(level: f64) -> u64 {
    level as u64
}

impl Fade {
    /// Creates the rule. `max` is from 1 to a million, so that a cost of one is never below the
    /// floor; `decay` is above 1.
    pub(crate) fn new(max: f64, decay: f64, resolution: Span) -> Fade {
        let inverse_ln = decay.ln().recip();
        Fade { max, fading: Fading { decay, resolution, floor: max / 1e6, inverse_ln } }
    }

    pub(crate) fn max(&self) -> f64 {
        self.max
    }

    pub(super) fn params(&self) -> RuleParams {
        let Fading { decay, resolution, floor, .. } = self.fading;
        RuleParams::Fade { max: self.max, decay, resolution, floor }
    }

    pub(super) fn with(fading: Fading, max: f64) -> Fade {
        Fade { max, fading }
    }

    fn fits(&self, level: f64, cost: u64) -> bool {
        level + float(cost) <= self.max
    }

    #[inline]
    fn fits_after(&self, state: &FadeState, steps: u64, cost: u64) -> bool {
        self.fits(state.fading.after(state.level, steps), cost)
    }

    /// Returns the number of steps after which a cost fits.
    fn steps_until(&self, state: &FadeState, cost: u64) -> u64 {
        let room = (self.max - float(cost)).max(state.fading.floor);
        let guess = state.fading.guess(state.level / room);
        first_step(guess, |steps| self.fits_after(state, steps, cost))
    }

    fn write(&self, state: &mut Option<FadeState>, level: f64, now: Time) -> Result<(), Overdrawn> {
        let next = self.fading.state(level, now);
        let reset_after = next.as_ref().map_or(Span::ZERO, |state| state.resets_at.since(now));
        if level > float(MAX_COUNT) || reset_after > Span::MAX {
            return Err(Overdrawn);
        }
        *state = next;
        Ok(())
    }
}

impl Fading {
    /// Creates it from untrusted numbers; `None` if they are out of range.
    pub(super) fn new(decay: f64, resolution: Span, floor: f64) -> Option<Fading> {
        let is_valid = FADE_DECAY.contains(&decay) && FADE_FLOOR.contains(&floor);
        is_valid.then(|| Fading { decay, resolution, floor, inverse_ln: decay.ln().recip() })
    }

    pub(super) fn params(&self) -> (f64, Span, f64) {
        (self.decay, self.resolution, self.floor)
    }

    /// Returns the level after this many steps.
    #[inline]
    fn after(&self, level: f64, steps: u64) -> f64 {
        let level = match steps {
            0 => level,
            1 => level / self.decay,
            steps => level / power(self.decay, steps),
        };
        if level < self.floor { 0.0 } else { level }
    }

    /// Returns how long a level takes to fall below the floor.
    fn reset_after(&self, level: f64) -> Span {
        let guess = self.guess(level / self.floor);
        self.resolution.times(first_step(guess, |steps| self.after(level, steps) == 0.0))
    }

    /// Guesses how many steps divide a level by `divisor`.
    fn guess(&self, divisor: f64) -> u64 {
        whole((divisor.ln() * self.inverse_ln).ceil())
    }

    /// Returns how often the level was divided between two instants.
    fn steps(&self, from: Time, to: Time) -> u64 {
        to.floor_to(self.resolution).since(from.floor_to(self.resolution)).steps(self.resolution)
    }

    /// Returns the words of a state whose level was written in the step of `since`.
    pub(super) fn words(self, level: f64, since: Time) -> Option<Words> {
        let state = is_level(level).then(|| self.state(level, since))?;
        state.map(|state| Fade::pack(&state).1)
    }

    /// Creates a state with this level at `now`; `None` if the level counts as zero.
    fn state(self, level: f64, now: Time) -> Option<FadeState> {
        if level < self.floor || level <= 0.0 {
            return None;
        }
        let since = now.floor_to(self.resolution);
        let resets_at = since.after(self.reset_after(level));
        Some(FadeState { level, since, resets_at, fading: self })
    }
}

impl FadeState {
    /// Returns how often the level was divided up to `now`; `since` is the start of a step.
    #[inline]
    fn steps(&self, now: Time) -> u64 {
        now.since(self.since).steps(self.fading.resolution)
    }

    #[inline]
    fn at(&self, now: Time) -> f64 {
        self.fading.after(self.level, self.steps(now))
    }
}

impl Pack for Fade {
    type Terms = Fading;

    fn terms(&self) -> Fading {
        self.fading
    }

    #[inline]
    fn pack(state: &FadeState) -> (Fading, Words) {
        let words = [state.level.to_bits(), state.since.as_micros(), state.resets_at.as_micros()];
        (state.fading, words)
    }

    #[inline]
    fn unpack(fading: Fading, [level, since, resets_at]: Words) -> Option<FadeState> {
        let level = Some(f64::from_bits(level)).filter(|level| is_level(*level))?;
        let (since, resets_at) = (Time::at(since), Time::at(resets_at));
        Some(FadeState { level, since, resets_at, fading })
    }

    /// A sum of doubles depends on the order of its terms, so the room is computed anew.
    #[inline]
    fn room_left(&self, _: u64, _: u64, state: &FadeState, now: Time) -> Option<u64> {
        self.headroom(state, now)
    }
}

impl Counting for Fade {
    type State = FadeState;

    fn capacity(&self) -> u64 {
        whole(self.max)
    }

    fn full_reset_after(&self) -> Span {
        self.fading.reset_after(self.max)
    }

    fn instant(state: &FadeState) -> Time {
        state.since
    }

    fn resets_at(state: &FadeState) -> Time {
        state.resets_at
    }

    /// The subtraction may round either way, so its result is checked.
    fn headroom(&self, state: &FadeState, now: Time) -> Option<u64> {
        let level = state.at(now);
        if !self.fits(level, 0) {
            return None;
        }
        let guess = whole(self.max - level);
        let around = [guess.saturating_add(1), guess, guess.saturating_sub(1)];
        around.into_iter().find(|cost| self.fits(level, *cost))
    }

    #[inline]
    fn fits_at(&self, state: &FadeState, now: Time, cost: u64) -> Time {
        // One more step is enough for a client that just hit the limit, and logarithms are slow.
        let next = state.steps(now).saturating_add(1);
        let soon = self.fits_after(state, next, cost);
        let steps = if soon { next } else { self.steps_until(state, cost) };
        state.since.after(state.fading.resolution.times(steps))
    }

    fn take(
        &self,
        state: &mut Option<FadeState>,
        now: Time,
        cost: u64,
        _: Option<Handle>,
    ) -> Result<(), Overdrawn> {
        let level = state.as_ref().map_or(0.0, |state| state.at(now)) + float(cost);
        self.write(state, level, now)
    }

    fn refund(&self, state: &mut Option<FadeState>, now: Time, cost: u64) {
        *state = state
            .take()
            .and_then(|state| state.fading.state((state.at(now) - float(cost)).max(0.0), now));
    }

    fn refundable(&self, state: &FadeState, now: Time, taken: Taken) -> u64 {
        whole(state.at(now) * power(state.fading.decay, state.fading.steps(taken.at, now)))
    }

    /// What was taken later has decayed less, so at the time of `other` it would have been more.
    fn overlap(&self, cost: u64, taken: Taken, other: Taken) -> u64 {
        let steps = self.fading.steps(other.at, taken.at);
        whole((float(cost) * power(self.fading.decay, steps)).ceil())
    }

    fn refund_at(&self, state: &mut Option<FadeState>, now: Time, cost: u64, taken: Taken) -> bool {
        let Some(current) = state else { return false };
        let (level, fading) = (current.at(now), current.fading);
        let decayed = float(cost) / power(fading.decay, fading.steps(taken.at, now));
        // It was so long ago that subtracting it does not change the double.
        if level - decayed == level {
            return false;
        }
        *state = fading.state((level - decayed).max(0.0), now);
        true
    }

    fn charge_at(
        &self,
        state: &mut Option<FadeState>,
        now: Time,
        cost: u64,
        taken: Taken,
    ) -> Result<bool, Overdrawn> {
        // The estimate may have decayed below the floor by itself, but not together with this cost.
        let late = if state.is_some() { cost } else { cost.saturating_add(taken.cost) };
        let decayed = float(late) / power(self.fading.decay, self.fading.steps(taken.at, now));
        let before = state.as_ref().map_or(0.0, |state| state.at(now));
        let level = before + decayed;
        if level == before || level < self.fading.floor {
            return Ok(false);
        }
        self.write(state, level, now).map(|()| true)
    }
}
