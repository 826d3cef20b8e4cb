//! Fade: ar1.
//!
//! **What it is.** A level that is divided by `decay` at every `resolution`: each request weighs
//! less the longer it is past. What is left below a millionth of `max` counts as nothing.
//!
//! **What it promises.** The faded sum never passes `max`. It is a soft memory, not a count in a
//! window: a steady client settles at `max * (1 - 1/decay)` for each `resolution`.
//!
//! **What it costs.** One double and one instant. Doubles are used with `* / +` only and in one
//! command, so that every store agrees to the last bit.

use super::packed::{Pack, Under, Words};
use super::{Counting, Handle, MAX_COUNT, Taken};
use crate::error::Overdrawn;
use crate::remote::RuleParams;
use crate::time::{Span, Time};

/// How a level fades, and below what it is nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fading {
    decay: f64,
    resolution: Span,
    floor: f64,
    /// One over the logarithm of `decay`: how many steps divide by the number e. Only guesses are
    /// made with it.
    pace: f64,
}

/// A fading level of at most `max`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fade {
    max: f64,
    fading: Fading,
}

#[derive(Debug, Clone)]
pub(crate) struct FadeState {
    level: f64,
    /// The start of the step the level belongs to.
    since: Time,
    /// When it will have faded away: worked out once, at each write.
    gone: Time,
    fading: Fading,
}

/// `decay` to the power of `steps`, in the one command that every store uses.
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

/// The least number of steps for which `enough` holds, given that it holds from there on. Looked
/// for around a guess, which is nearly always right, so that two looks are enough.
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
        while !enough(high) {
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

/// As a signed number, for which processors have an instruction.
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
    /// `max` from 1 to a million, so that a cost of one is never below the floor; `decay` above 1.
    pub(crate) fn new(max: f64, decay: f64, resolution: Span) -> Fade {
        let fading = Fading { decay, resolution, floor: max / 1e6, pace: decay.ln().recip() };
        Fade { max, fading }
    }

    pub(crate) fn max(&self) -> f64 {
        self.max
    }

    pub(crate) fn params(&self) -> RuleParams {
        let Fading { decay, resolution, floor, .. } = self.fading;
        RuleParams::Fade { max: self.max, decay, resolution, floor }
    }

    /// A level of at most that, which fades so.
    pub(super) fn with(fading: Fading, max: f64) -> Fade {
        Fade { max, fading }
    }

    fn fits(&self, level: f64, cost: u64) -> bool {
        level + float(cost) <= self.max
    }

    #[inline]
    fn fits_after(&self, body: &FadeState, steps: u64, cost: u64) -> bool {
        self.fits(body.fading.after(body.level, steps), cost)
    }

    /// After how many steps a cost fits.
    fn steps_until(&self, body: &FadeState, cost: u64) -> u64 {
        let room = (self.max - float(cost)).max(body.fading.floor);
        let guess = body.fading.guess(body.level / room);
        first_step(guess, |steps| self.fits_after(body, steps, cost))
    }

    fn fill(&self, body: &mut Option<FadeState>, level: f64, now: Time) -> Result<(), Overdrawn> {
        let next = self.fading.body(level, now);
        let lasts = next.as_ref().map_or(Span::ZERO, |body| body.gone.since(now));
        if level > float(MAX_COUNT) || lasts > Span::MAX {
            return Err(Overdrawn);
        }
        *body = next;
        Ok(())
    }
}

impl Fading {
    /// From numbers that may be anything.
    pub(super) fn new(decay: f64, resolution: Span, floor: f64) -> Option<Fading> {
        let right = decay.is_finite() && decay > 1.0 && floor.is_finite() && floor > 0.0;
        right.then(|| Fading { decay, resolution, floor, pace: decay.ln().recip() })
    }

    pub(super) fn params(&self) -> (f64, Span, f64) {
        (self.decay, self.resolution, self.floor)
    }

    /// What is left of a level after so many steps.
    #[inline]
    fn after(&self, level: f64, steps: u64) -> f64 {
        let level = match steps {
            0 => level,
            1 => level / self.decay,
            steps => level / power(self.decay, steps),
        };
        if level < self.floor { 0.0 } else { level }
    }

    fn lasts(&self, level: f64) -> Span {
        let guess = self.guess(level / self.floor);
        self.resolution.times(first_step(guess, |steps| self.after(level, steps) == 0.0))
    }

    /// About how many steps divide a level by so much.
    fn guess(&self, by: f64) -> u64 {
        whole((by.ln() * self.pace).ceil())
    }

    /// How often the level was divided between two instants.
    fn steps(&self, from: Time, to: Time) -> u64 {
        to.floor_to(self.resolution).since(from.floor_to(self.resolution)).steps(self.resolution)
    }

    /// The words of a state whose level was written in the step of `since`.
    pub(super) fn words(self, level: f64, since: Time) -> Option<Words> {
        self.body(level, since).filter(|_| level.is_finite()).map(|body| Fade::pack(&body).1)
    }

    /// A state with this level at `now`; none if that is nothing.
    fn body(self, level: f64, now: Time) -> Option<FadeState> {
        if level < self.floor || level <= 0.0 {
            return None;
        }
        let since = now.floor_to(self.resolution);
        Some(FadeState { level, since, gone: since.after(self.lasts(level)), fading: self })
    }
}

impl FadeState {
    /// How often the level was divided by `now`; `since` is where a step begins.
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
    fn terms(&self) -> Under {
        Under::Fade(self.fading)
    }

    #[inline]
    fn pack(body: &FadeState) -> (Under, Words) {
        let words = [body.level.to_bits(), body.since.as_micros(), body.gone.as_micros()];
        (Under::Fade(body.fading), words)
    }

    #[inline]
    fn unpack(under: Under, [level, since, gone]: Words) -> Option<FadeState> {
        let Under::Fade(fading) = under else { return None };
        let level = Some(f64::from_bits(level)).filter(|level| level.is_finite())?;
        Some(FadeState { level, since: Time::at(since), gone: Time::at(gone), fading })
    }

    /// A sum of doubles depends on the command of its parts, so it is worked out anew.
    #[inline]
    fn room_left(&self, _: u64, _: u64, body: &FadeState, now: Time) -> Option<u64> {
        self.headroom(body, now)
    }
}

impl Counting for Fade {
    type Body = FadeState;

    fn capacity(&self) -> u64 {
        whole(self.max)
    }

    /// How long a full level takes to fade away.
    fn full_reset_after(&self) -> Span {
        self.fading.lasts(self.max)
    }

    fn instant(body: &FadeState) -> Time {
        body.since
    }

    fn resets(body: &FadeState) -> Time {
        body.gone
    }

    /// The subtraction may round either way, so its result is tried.
    fn headroom(&self, body: &FadeState, now: Time) -> Option<u64> {
        let level = body.at(now);
        if !self.fits(level, 0) {
            return None;
        }
        let guess = whole(self.max - level);
        let around = [guess.saturating_add(1), guess, guess.saturating_sub(1)];
        around.into_iter().find(|cost| self.fits(level, *cost))
    }

    #[inline]
    fn fits_at(&self, body: &FadeState, now: Time, cost: u64) -> Time {
        // It does not fit now. One step more is enough for whoever just hit the limit, and
        // logarithms take their time.
        let next = body.steps(now).saturating_add(1);
        let soon = self.fits_after(body, next, cost);
        let steps = if soon { next } else { self.steps_until(body, cost) };
        body.since.after(body.fading.resolution.times(steps))
    }

    fn take(
        &self,
        body: &mut Option<FadeState>,
        now: Time,
        cost: u64,
        _: Option<Handle<'_>>,
    ) -> Result<(), Overdrawn> {
        let level = body.as_ref().map_or(0.0, |body| body.at(now)) + float(cost);
        self.fill(body, level, now)
    }

    fn give(&self, body: &mut Option<FadeState>, now: Time, cost: u64) {
        *body = body
            .take()
            .and_then(|body| body.fading.body((body.at(now) - float(cost)).max(0.0), now));
    }

    fn refundable(&self, body: &FadeState, now: Time, taken: Taken<'_>) -> u64 {
        whole(body.at(now) * power(body.fading.decay, body.fading.steps(taken.at, now)))
    }

    /// What was taken later has faded less: it would have to have been more back then.
    fn overlap(&self, cost: u64, taken: Taken<'_>, other: Taken<'_>) -> u64 {
        let steps = self.fading.steps(other.at, taken.at);
        whole((float(cost) * power(self.fading.decay, steps)).ceil())
    }

    fn give_back(
        &self,
        body: &mut Option<FadeState>,
        now: Time,
        cost: u64,
        taken: Taken<'_>,
    ) -> bool {
        let Some(state) = body else { return false };
        let level = state.at(now);
        let faded = float(cost) / power(state.fading.decay, state.fading.steps(taken.at, now));
        // So long ago that it makes no difference to a double.
        if level - faded == level {
            return false;
        }
        *body = state.fading.body((level - faded).max(0.0), now);
        true
    }

    fn charge_at(
        &self,
        body: &mut Option<FadeState>,
        now: Time,
        cost: u64,
        taken: Taken<'_>,
    ) -> Result<bool, Overdrawn> {
        // What was taken first may have faded below the floor by itself, but not with this on top.
        let late = if body.is_some() { cost } else { cost.saturating_add(taken.cost) };
        let faded = float(late) / power(self.fading.decay, self.fading.steps(taken.at, now));
        let before = body.as_ref().map_or(0.0, |body| body.at(now));
        let level = before + faded;
        if level == before || level < self.fading.floor {
            return Ok(false);
        }
        self.fill(body, level, now).map(|()| true)
    }
}
