//! Drip: leaky-bucket, token-bucket `whole`, and legacy.
//!
//! **What it is.** A bucket that leaks `drip` units at once, `every` so often, counted from the
//! moment water entered it empty. No clock drips in the background: the drops that have fallen are
//! worked out when someone asks.
//!
//! **What it promises.** At most `size` at one instant, then `drip` more after each `every`.
//!
//! **What it costs.** Two numbers: the level, and when the last drop fell.

use super::packed::{Pack, Under, Words};
use super::{Counting, Handle, MAX_COUNT, Taken};
use crate::error::Overdrawn;
use crate::time::{Span, Time};
use crate::wide::{floor_div, narrow, product, wide};

/// The rhythm of a leak: so many units, so often.
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
    /// When the last drop fell, or water entered the empty bucket.
    since: Time,
    leak: Leak,
}

impl Drip {
    /// All three are at least one.
    pub(crate) fn new(size: u64, drip: u64, every: Span) -> Drip {
        Drip { size, leak: Leak { drip, every } }
    }

    /// `(size, drip, every)`, which is all there is to it.
    pub(crate) fn params(&self) -> (u64, u64, Span) {
        (self.size, self.leak.drip, self.leak.every)
    }
}

impl Leak {
    /// From one drop on, how long until so much has leaked.
    #[inline]
    fn takes(self, units: u64) -> Span {
        let drops = if self.drip <= 1 { units } else { units.div_ceil(self.drip) };
        self.every.times(drops)
    }
}

impl DripState {
    /// The same bucket with the drops up to `now` fallen.
    #[inline]
    fn sunk(&self, now: Time) -> DripState {
        let drops = now.since(self.since).steps(self.leak.every);
        DripState {
            level: self.level.saturating_sub(drops.saturating_mul(self.leak.drip)),
            since: self.since.after(self.leak.every.times(drops)),
            leak: self.leak,
        }
    }

    /// The same water with another leak. The share of the way to the next drop is kept, so that
    /// changing to and fro can neither hold a drop back nor bring one early.
    fn with_leak(self, leak: Leak, now: Time) -> DripState {
        if self.leak.every == leak.every {
            return DripState { leak, ..self };
        }
        let gone = product(now.since(self.since).as_micros(), leak.every.as_micros());
        let gone = narrow(floor_div(gone, wide(self.leak.every.as_micros())));
        DripState { level: self.level, since: Time::at(now.as_micros().saturating_sub(gone)), leak }
    }
}

impl Pack for Drip {
    fn terms(&self) -> Under {
        Under::Drip(self.leak)
    }

    #[inline]
    fn pack(body: &DripState) -> (Under, Words) {
        (Under::Drip(body.leak), [body.level, body.since.as_micros(), 0])
    }

    #[inline]
    fn unpack(under: Under, [level, since, _]: Words) -> Option<DripState> {
        let Under::Drip(leak) = under else { return None };
        Some(DripState { level, since: Time::at(since), leak })
    }
}

impl Counting for Drip {
    type Body = DripState;

    fn capacity(&self) -> u64 {
        self.size
    }

    /// How long a full bucket takes to run dry.
    fn full_reset_after(&self) -> Span {
        self.leak.takes(self.size)
    }

    fn instant(body: &DripState) -> Time {
        body.since
    }

    #[inline]
    fn resets(body: &DripState) -> Time {
        body.since.after(body.leak.takes(body.level))
    }

    #[inline]
    fn headroom(&self, body: &DripState, now: Time) -> Option<u64> {
        self.size.checked_sub(body.sunk(now).level)
    }

    #[inline]
    fn fits_at(&self, body: &DripState, now: Time, cost: u64) -> Time {
        let body = body.sunk(now);
        let over = body.level.saturating_add(cost).saturating_sub(self.size);
        body.since.after(body.leak.takes(over))
    }

    #[inline]
    fn take(
        &self,
        body: &mut Option<DripState>,
        now: Time,
        cost: u64,
        _: Option<Handle<'_>>,
    ) -> Result<(), Overdrawn> {
        let empty = DripState { level: 0, since: now, leak: self.leak };
        let sunk = body.as_ref().map_or(empty, |body| body.sunk(now).with_leak(self.leak, now));
        let filled = DripState { level: sunk.level.saturating_add(cost), ..sunk };
        if filled.level > MAX_COUNT || Drip::resets(&filled).since(now) > Span::MAX {
            return Err(Overdrawn);
        }
        *body = Some(filled);
        Ok(())
    }

    fn give(&self, body: &mut Option<DripState>, now: Time, cost: u64) {
        *body = body.take().and_then(|body| {
            let sunk = body.sunk(now);
            let level = sunk.level.saturating_sub(cost);
            (level > 0).then_some(DripState { level, ..sunk })
        });
    }

    fn refundable(&self, body: &DripState, now: Time, _: Taken<'_>) -> u64 {
        body.sunk(now).level
    }
}
