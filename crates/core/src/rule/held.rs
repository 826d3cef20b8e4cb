//! Held: concurrency.
//!
//! **What it is.** Leases that are held for a while rather than spent: each ends when its holder
//! releases it, or `ttl` after it was taken or renewed.
//!
//! **What it promises.** At most `capacity` held at once. The lease of a holder that dies ends by
//! its `ttl`.
//!
//! **What it costs.** One entry for each lease that is held.

use super::counting::{Counting, MAX_COUNT, MAX_ENTRIES, Taken};
use super::handle::Handle;
use super::params::RuleParams;
use crate::error::Overdrawn;
use crate::time::{Span, Time};

/// At most `capacity` leases, each for `ttl`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Held {
    capacity: u64,
    ttl: Span,
}

#[derive(Debug, Clone)]
pub(super) struct Lease {
    /// The handle it can be released by; without one it ends by its `ttl`.
    pub(super) handle: Option<Handle>,
    pub(super) count: u64,
    pub(super) ends: Time,
}

/// The leases in the order they were taken. Never empty.
#[derive(Debug, Clone)]
pub(crate) struct HeldState(pub(super) Vec<Lease>);

impl Held {
    pub(crate) fn new(capacity: u64, ttl: Span) -> Held {
        Held { capacity, ttl }
    }

    pub(super) fn params(&self) -> RuleParams {
        RuleParams::Held { capacity: self.capacity, ttl: self.ttl }
    }

    fn lease(
        state: &mut Option<HeldState>,
        now: Time,
        count: u64,
        handle: Option<Handle>,
        ends: Time,
    ) -> Result<(), Overdrawn> {
        let (used, leases) = state.as_ref().map_or((0, 0), |state| state.used_by(now));
        if used.saturating_add(count) > MAX_COUNT || leases >= MAX_ENTRIES {
            return Err(Overdrawn);
        }
        let leases = &mut state.get_or_insert(HeldState(Vec::new())).0;
        leases.retain(|lease| now < lease.ends);
        leases.push(Lease { handle, count, ends });
        Ok(())
    }
}

impl Lease {
    fn has_handle(&self, handle: Handle) -> bool {
        self.handle == Some(handle)
    }
}

impl HeldState {
    fn live(&self, now: Time) -> impl Iterator<Item = &Lease> {
        self.0.iter().filter(move |lease| now < lease.ends)
    }

    fn used(&self, now: Time) -> u64 {
        self.used_by(now).0
    }

    /// Returns how much is held, and by how many leases.
    fn used_by(&self, now: Time) -> (u64, usize) {
        self.live(now).fold((0, 0), |(used, leases), lease| {
            (used.saturating_add(lease.count), leases.saturating_add(1))
        })
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

/// Replaces a state without leases by `None`.
fn normalize(state: &mut Option<HeldState>) {
    if state.as_ref().is_some_and(|state| state.0.is_empty()) {
        *state = None;
    }
}

impl Counting for Held {
    type State = HeldState;

    const GIVES_LEASES: bool = true;

    fn capacity(&self) -> u64 {
        self.capacity
    }

    /// A lease that is not released is held this long.
    fn full_reset_after(&self) -> Span {
        self.ttl
    }

    /// There is none: the end of a lease does not depend on when it is looked at.
    fn instant(_: &HeldState) -> Time {
        Time::EPOCH
    }

    fn resets_at(state: &HeldState) -> Time {
        state.0.iter().map(|lease| lease.ends).max().unwrap_or(Time::EPOCH)
    }

    fn headroom(&self, state: &HeldState, now: Time) -> Option<u64> {
        self.capacity.checked_sub(state.used(now))
    }

    fn fits_at(&self, state: &HeldState, now: Time, cost: u64) -> Time {
        let room = self.capacity.saturating_sub(cost);
        let mut leases: Vec<&Lease> = state.live(now).collect();
        leases.sort_unstable_by_key(|lease| lease.ends);
        let mut used = state.used(now);
        for lease in leases {
            used = used.saturating_sub(lease.count);
            if used <= room {
                return lease.ends;
            }
        }
        Held::resets_at(state)
    }

    fn take(
        &self,
        state: &mut Option<HeldState>,
        now: Time,
        cost: u64,
        handle: Option<Handle>,
    ) -> Result<(), Overdrawn> {
        Held::lease(state, now, cost, handle, now.after(self.ttl))
    }

    fn refund(&self, state: &mut Option<HeldState>, now: Time, cost: u64) {
        if let Some(state) = state {
            state.end(now, cost, |_| true);
        }
        normalize(state);
    }

    fn refundable(&self, state: &HeldState, now: Time, taken: Taken) -> u64 {
        let matching = state.live(now).filter(|lease| lease.has_handle(taken.handle));
        matching.fold(0, |sum, lease| sum.saturating_add(lease.count))
    }

    /// Each handle has its own leases.
    fn overlap(&self, _: u64, _: Taken, _: Taken) -> u64 {
        0
    }

    fn refund_at(&self, state: &mut Option<HeldState>, now: Time, cost: u64, taken: Taken) -> bool {
        if let Some(state) = state {
            state.end(now, cost, |lease| lease.has_handle(taken.handle));
        }
        normalize(state);
        true
    }

    /// Adds to the lease that was reserved, so that both end or are renewed together.
    fn charge_at(
        &self,
        state: &mut Option<HeldState>,
        now: Time,
        cost: u64,
        taken: Taken,
    ) -> Result<bool, Overdrawn> {
        let matching = |lease: &&mut Lease| now < lease.ends && lease.has_handle(taken.handle);
        let used = state.as_ref().map_or(0, |state| state.used(now));
        let lease = state.as_mut().and_then(|state| state.0.iter_mut().rev().find(matching));
        match lease {
            Some(_) if used.saturating_add(cost) > MAX_COUNT => Err(Overdrawn),
            Some(lease) => {
                lease.count = lease.count.saturating_add(cost);
                if let Some(HeldState(leases)) = state {
                    leases.retain(|lease| now < lease.ends);
                }
                Ok(true)
            }
            None if now < taken.at.after(self.ttl) => {
                Held::lease(state, now, cost, Some(taken.handle), taken.at.after(self.ttl))
                    .map(|()| true)
            }
            None => Ok(false),
        }
    }

    fn holds(state: &HeldState, now: Time, handle: Handle) -> bool {
        state.live(now).any(|lease| lease.has_handle(handle))
    }

    fn release(&self, state: &mut Option<HeldState>, now: Time, handle: Handle) -> bool {
        let held = state.as_ref().is_some_and(|state| Held::holds(state, now, handle));
        if held {
            self.refund_at(state, now, u64::MAX, Taken { cost: 0, at: now, handle });
        }
        held
    }

    /// A lease never ends earlier by this: a clock that stepped back must not shorten it.
    fn renew(&self, state: &mut Option<HeldState>, now: Time, handle: Handle) -> bool {
        let Some(HeldState(leases)) = state else { return false };
        let ends = now.after(self.ttl);
        let renewed =
            |lease: &Lease| lease.has_handle(handle) && now < lease.ends && lease.ends < ends;
        if !leases.iter().any(renewed) {
            return false;
        }
        leases.retain(|lease| now < lease.ends);
        for lease in leases.iter_mut().filter(|lease| lease.has_handle(handle)) {
            lease.ends = lease.ends.max(ends);
        }
        true
    }
}
