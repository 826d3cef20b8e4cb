//! Held: concurrency.
//!
//! **What it is.** Leases that are held for a while rather than spent: each ends when its holder
//! releases it, or `ttl` after it was taken or renewed.
//!
//! **What it promises.** At most `capacity` held at once. A holder that dies gives its lease back
//! by its end.
//!
//! **What it costs.** One entry for each lease that is held.

use super::{Counting, Handle, MAX_COUNT, Taken};
use crate::error::Overdrawn;
use crate::remote::RuleParams;
use crate::time::{Span, Time};

/// At most `capacity` leases, each for `ttl`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Held {
    capacity: u64,
    ttl: Span,
}

#[derive(Debug, Clone)]
pub(super) struct Lease {
    /// Under what it can be released; without one it ends by itself.
    pub(super) handle: Option<Box<[u8]>>,
    pub(super) count: u64,
    pub(super) ends: Time,
}

/// The leases, from the one taken first. Never empty.
#[derive(Debug, Clone)]
pub(crate) struct HeldState(pub(super) Vec<Lease>);

impl Held {
    pub(crate) fn new(capacity: u64, ttl: Span) -> Held {
        Held { capacity, ttl }
    }

    pub(crate) fn params(&self) -> RuleParams {
        RuleParams::Held { capacity: self.capacity, ttl: self.ttl }
    }

    fn lease(
        body: &mut Option<HeldState>,
        now: Time,
        count: u64,
        handle: Option<Handle<'_>>,
        ends: Time,
    ) -> Result<(), Overdrawn> {
        let used = body.as_ref().map_or(0, |body| body.used(now));
        if used.saturating_add(count) > MAX_COUNT {
            return Err(Overdrawn);
        }
        let leases = &mut body.get_or_insert(HeldState(Vec::new())).0;
        leases.retain(|lease| now < lease.ends);
        leases.push(Lease { handle: handle.map(Into::into), count, ends });
        Ok(())
    }
}

impl Lease {
    fn is_of(&self, handle: Handle<'_>) -> bool {
        self.handle.as_deref() == Some(handle)
    }
}

impl HeldState {
    fn alive(&self, now: Time) -> impl Iterator<Item = &Lease> {
        self.0.iter().filter(move |lease| now < lease.ends)
    }

    fn used(&self, now: Time) -> u64 {
        self.alive(now).fold(0, |sum, lease| sum.saturating_add(lease.count))
    }

    /// Ends up to `count` of the leases that match, the newest first.
    fn end(&mut self, now: Time, mut count: u64, matches: impl Fn(&Lease) -> bool) {
        self.0.retain(|lease| now < lease.ends);
        for lease in self.0.iter_mut().rev().filter(|lease| matches(lease)) {
            let ended = lease.count.min(count);
            lease.count = lease.count.saturating_sub(ended);
            count = count.saturating_sub(ended);
        }
        self.0.retain(|lease| lease.count > 0);
    }
}

/// A body that holds nothing is none.
fn tidy(body: &mut Option<HeldState>) {
    if body.as_ref().is_some_and(|body| body.0.is_empty()) {
        *body = None;
    }
}

impl Counting for Held {
    type Body = HeldState;

    fn capacity(&self) -> u64 {
        self.capacity
    }

    /// How long a lease that nobody releases is held.
    fn full_reset_after(&self) -> Span {
        self.ttl
    }

    /// None: a lease ends when it ends, whenever that is looked at.
    fn instant(_: &HeldState) -> Time {
        Time::EPOCH
    }

    fn resets(body: &HeldState) -> Time {
        body.0.iter().map(|lease| lease.ends).max().unwrap_or(Time::EPOCH)
    }

    fn headroom(&self, body: &HeldState, now: Time) -> Option<u64> {
        self.capacity.checked_sub(body.used(now))
    }

    fn fits_at(&self, body: &HeldState, now: Time, cost: u64) -> Time {
        let room = self.capacity.saturating_sub(cost);
        let mut leases: Vec<&Lease> = body.alive(now).collect();
        leases.sort_unstable_by_key(|lease| lease.ends);
        let mut used = body.used(now);
        for lease in leases {
            used = used.saturating_sub(lease.count);
            if used <= room {
                return lease.ends;
            }
        }
        Held::resets(body)
    }

    fn take(
        &self,
        body: &mut Option<HeldState>,
        now: Time,
        cost: u64,
        handle: Option<Handle<'_>>,
    ) -> Result<(), Overdrawn> {
        Held::lease(body, now, cost, handle, now.after(self.ttl))
    }

    fn give(&self, body: &mut Option<HeldState>, now: Time, cost: u64) {
        if let Some(body) = body {
            body.end(now, cost, |_| true);
        }
        tidy(body);
    }

    fn refundable(&self, body: &HeldState, now: Time, taken: Taken<'_>) -> u64 {
        let its = body.alive(now).filter(|lease| lease.is_of(taken.handle));
        its.fold(0, |sum, lease| sum.saturating_add(lease.count))
    }

    /// Each has leases of its own.
    fn overlap(&self, _: u64, _: Taken<'_>, _: Taken<'_>) -> u64 {
        0
    }

    fn give_back(
        &self,
        body: &mut Option<HeldState>,
        now: Time,
        cost: u64,
        taken: Taken<'_>,
    ) -> bool {
        if let Some(body) = body {
            body.end(now, cost, |lease| lease.is_of(taken.handle));
        }
        tidy(body);
        true
    }

    /// Joins the lease that was reserved, so that both end or are renewed together.
    fn charge_at(
        &self,
        body: &mut Option<HeldState>,
        now: Time,
        cost: u64,
        taken: Taken<'_>,
    ) -> Result<bool, Overdrawn> {
        let its = |lease: &&mut Lease| now < lease.ends && lease.is_of(taken.handle);
        let used = body.as_ref().map_or(0, |body| body.used(now));
        let lease = body.as_mut().and_then(|body| body.0.iter_mut().rev().find(its));
        match lease {
            Some(_) if used.saturating_add(cost) > MAX_COUNT => Err(Overdrawn),
            Some(lease) => {
                lease.count = lease.count.saturating_add(cost);
                if let Some(HeldState(leases)) = body {
                    leases.retain(|lease| now < lease.ends);
                }
                Ok(true)
            }
            None if now < taken.at.after(self.ttl) => {
                Held::lease(body, now, cost, Some(taken.handle), taken.at.after(self.ttl))
                    .map(|()| true)
            }
            None => Ok(false),
        }
    }

    fn release(&self, body: &mut Option<HeldState>, now: Time, handle: Handle<'_>) -> bool {
        let taken = Taken { cost: 0, at: now, handle };
        let held = body.as_ref().is_some_and(|body| self.refundable(body, now, taken) > 0);
        if held {
            self.give_back(body, now, u64::MAX, taken);
        }
        held
    }

    /// Never sooner than it would have ended: a clock stepped back must not shorten a lease.
    fn renew(&self, body: &mut Option<HeldState>, now: Time, handle: Handle<'_>) -> bool {
        let Some(HeldState(leases)) = body else { return false };
        let ends = now.after(self.ttl);
        let renewed = |lease: &Lease| lease.is_of(handle) && now < lease.ends && lease.ends < ends;
        if !leases.iter().any(renewed) {
            return false;
        }
        leases.retain(|lease| now < lease.ends);
        for lease in leases.iter_mut().filter(|lease| lease.is_of(handle)) {
            lease.ends = lease.ends.max(ends);
        }
        true
    }
}
