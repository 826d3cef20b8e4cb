//! Held: concurrency.
//!
//! **What it is.** Leases that are held for a while rather than spent: each ends when its holder
//! releases it, or `ttl` after it was taken or renewed.
//!
//! **What it promises.** At most `capacity` held at once. The lease of a holder that dies ends by
//! its `ttl`.
//!
//! **What it costs.** One entry for each lease that is held.

use std::collections::VecDeque;

use super::counting::{Counting, InPlace, MAX_COUNT, MAX_ENTRIES, Taken};
use super::footprint::ListSize;
use super::handle::Handle;
use super::list::List;
use super::params::RuleParams;
use super::reservation::Reservation;
use crate::error::Overdrawn;
use crate::time::{Span, Time};
use crate::walked::walk;

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

/// The leases of one subject.
#[derive(Debug, Clone)]
pub(crate) struct HeldState {
    /// What all leases hold together, also those that have ended.
    total: u64,
    /// In the order of their ends, of equal ends the newest last; never empty. So those that have ended come first, a
    /// refund takes from the back, and no operation sorts.
    leases: List<Lease>,
}

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
        let lease = Lease { handle, count, ends };
        let Some(state) = state else {
            *state = Some(HeldState::of_one(lease));
            return Ok(());
        };
        let leases = state.leases.len().saturating_sub(state.ended(now));
        if state.used(now).saturating_add(count) > MAX_COUNT || leases >= MAX_ENTRIES {
            return Err(Overdrawn);
        }
        state.drop_ended(now);
        state.insert(lease);
        Ok(())
    }
}

impl Lease {
    fn has_handle(&self, handle: Handle) -> bool {
        self.handle == Some(handle)
    }
}

impl HeldState {
    /// Creates a state from leases in any order; `None` without leases.
    pub(super) fn of(mut leases: Vec<Lease>) -> Option<HeldState> {
        let total = leases.iter().fold(0_u64, |sum, lease| sum.saturating_add(lease.count));
        leases.sort_by_key(|lease| lease.ends);
        (!leases.is_empty()).then(|| HeldState { total, leases: leases.into() })
    }

    pub(super) fn of_one(lease: Lease) -> HeldState {
        HeldState { total: lease.count, leases: List::One(lease) }
    }

    /// Returns the lease of a key that never had more since it was empty: one with room for several keeps it.
    pub(super) fn lone(&self) -> Option<&Lease> {
        if let List::One(lease) = &self.leases { Some(lease) } else { None }
    }

    pub(super) fn leases(&self) -> &List<Lease> {
        &self.leases
    }

    fn ended(&self, now: Time) -> usize {
        self.leases.partition_point(|lease| lease.ends <= now)
    }

    fn live(&self, now: Time) -> impl Iterator<Item = &Lease> {
        self.leases.iter_from(self.ended(now))
    }

    /// Returns how much is held.
    fn used(&self, now: Time) -> u64 {
        let ended = self.ended(now);
        walk(ended);
        let ended = self.leases.iter().take(ended);
        ended.fold(self.total, |total, lease| total.saturating_sub(lease.count))
    }

    fn drop_ended(&mut self, now: Time) {
        while let Some(ended) = self.leases.first().filter(|lease| lease.ends <= now) {
            walk(1);
            self.total = self.total.saturating_sub(ended.count);
            self.leases.pop_first();
        }
        self.leases.shrink();
    }

    fn insert(&mut self, lease: Lease) {
        let index = self.leases.partition_point(|other| other.ends <= lease.ends);
        walk(index.min(self.leases.len().saturating_sub(index)));
        self.total = self.total.saturating_add(lease.count);
        self.leases.insert(index, lease);
    }

    /// Ends up to `count` of the leases that match, the last to end first.
    fn end(&mut self, now: Time, count: u64, matches: impl Fn(&Lease) -> bool) {
        self.drop_ended(now);
        walk(self.leases.len().saturating_mul(2));
        let mut left = count;
        for lease in self.leases.iter_mut().rev().filter(|lease| matches(lease)) {
            if left == 0 {
                break;
            }
            let ended = lease.count.min(left);
            lease.count = lease.count.saturating_sub(ended);
            left = left.saturating_sub(ended);
        }
        self.total = self.total.saturating_sub(count.saturating_sub(left));
        self.leases.retain(|lease| lease.count > 0);
        self.leases.shrink();
    }

    /// Adds to the last to end of the leases under the handle.
    fn grow(&mut self, handle: Handle, count: u64) {
        walk(self.leases.len());
        if let Some(lease) = self.leases.iter_mut().rev().find(|lease| lease.has_handle(handle)) {
            lease.count = lease.count.saturating_add(count);
            self.total = self.total.saturating_add(count);
        }
    }

    /// Lets the leases that match end at `ends`. It takes no more memory than before: what a holder has needs no room.
    fn move_to(&mut self, ends: Time, matches: impl Fn(&Lease) -> bool) {
        walk(self.leases.len().saturating_mul(2));
        match &mut self.leases {
            List::One(lease) if matches(lease) => lease.ends = ends,
            List::One(_) => {}
            List::Many(leases) => move_in(leases, ends, matches),
        }
    }
}

fn move_in(leases: &mut VecDeque<Lease>, ends: Time, matches: impl Fn(&Lease) -> bool) {
    let mut moved = Vec::new();
    leases.retain(|lease| {
        let is_moved = matches(lease);
        if is_moved {
            moved.push(Lease { ends, ..lease.clone() });
        }
        !is_moved
    });
    let later = leases.partition_point(|lease| lease.ends <= ends);
    let (are_last, count) = (later == leases.len(), moved.len());
    leases.extend(moved);
    if !are_last && let Some(later) = leases.make_contiguous().get_mut(later..) {
        later.rotate_right(count);
    }
}

/// Replaces a state without leases by `None`.
fn normalize(state: &mut Option<HeldState>) {
    if state.as_ref().is_some_and(|state| state.leases.len() == 0) {
        *state = None;
    }
}

impl InPlace for Held {
    fn take_in_place(
        &self,
        state: &mut HeldState,
        at: Time,
        cost: u64,
        handle: Option<Handle>,
    ) -> Option<()> {
        if state.leases.len() >= MAX_ENTRIES {
            return None;
        }
        state.drop_ended(at);
        state.insert(Lease { handle, count: cost, ends: at.after(self.ttl) });
        Some(())
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
        state.leases.last().map_or(Time::EPOCH, |last| last.ends)
    }

    fn list_size(state: &HeldState) -> Option<ListSize> {
        Some(state.leases.size())
    }

    fn trim(state: &mut HeldState, now: Time) {
        state.drop_ended(now);
    }

    fn headroom(&self, state: &HeldState, now: Time) -> Option<u64> {
        self.capacity.checked_sub(state.used(now))
    }

    fn fits_at(&self, state: &HeldState, now: Time, cost: u64) -> Time {
        let room = self.capacity.saturating_sub(cost);
        let mut used = state.used(now);
        for lease in state.live(now) {
            walk(1);
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
        walk(state.leases.len());
        let matching = state.live(now).filter(|lease| lease.has_handle(taken.handle));
        matching.fold(0, |sum, lease| sum.saturating_add(lease.count))
    }

    /// In one pass over the leases, however many reservations there are.
    fn cap_refundable(
        &self,
        state: Option<&HeldState>,
        now: Time,
        reservations: &mut [Reservation],
    ) {
        if reservations.is_empty() {
            return;
        }
        let none = |reservation: &Reservation| (reservation.handle, 0_u64);
        let mut held: Vec<(Handle, u64)> = reservations.iter().map(none).collect();
        held.sort_unstable();
        let held_by = |held: &[(Handle, u64)], handle| {
            held.binary_search_by_key(&handle, |(handle, _)| *handle).ok()
        };
        walk(state.map_or(0, |state| state.leases.len()).saturating_add(reservations.len()));
        for lease in state.into_iter().flat_map(|state| state.live(now)) {
            let index = lease.handle.and_then(|handle| held_by(&held, handle));
            if let Some((_, sum)) = index.and_then(|index| held.get_mut(index)) {
                *sum = sum.saturating_add(lease.count);
            }
        }
        for reservation in reservations {
            let sum = held_by(&held, reservation.handle).and_then(|index| held.get(index));
            let refundable = sum.map_or(0, |(_, sum)| *sum);
            reservation.max_refund = reservation.max_refund.min(refundable);
        }
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
        let matching = |lease: &Lease| now < lease.ends && lease.has_handle(taken.handle);
        let used = state.as_ref().map_or(0, |state| state.used(now));
        walk(state.as_ref().map_or(0, |state| state.leases.len()));
        match state {
            Some(state) if state.leases.iter().any(matching) => {
                if used.saturating_add(cost) > MAX_COUNT {
                    return Err(Overdrawn);
                }
                state.drop_ended(now);
                state.grow(taken.handle, cost);
                Ok(true)
            }
            _ if now < taken.at.after(self.ttl) => {
                Held::lease(state, now, cost, Some(taken.handle), taken.at.after(self.ttl))
                    .map(|()| true)
            }
            _ => Ok(false),
        }
    }

    fn holds(state: &HeldState, now: Time, handle: Handle) -> bool {
        walk(state.leases.len());
        state.live(now).any(|lease| lease.has_handle(handle))
    }

    fn release(&self, state: &mut Option<HeldState>, now: Time, handle: Handle) -> bool {
        if let Some(HeldState { leases, .. }) = state
            && leases.len() == 1
            && leases.iter().all(|lease| now < lease.ends && lease.has_handle(handle))
        {
            // Nothing is left.
            *state = None;
            return true;
        }
        let held = state.as_ref().is_some_and(|state| Held::holds(state, now, handle));
        if held {
            self.refund_at(state, now, u64::MAX, Taken { cost: 0, at: now, handle });
        }
        held
    }

    /// A lease never ends earlier by this: a clock that stepped back must not shorten it.
    fn renew(&self, state: &mut Option<HeldState>, now: Time, handle: Handle) -> bool {
        let Some(state) = state else { return false };
        let ends = now.after(self.ttl);
        walk(state.leases.len());
        let renewed = |lease: &Lease| lease.has_handle(handle) && lease.ends < ends;
        if !state.live(now).any(renewed) {
            return false;
        }
        state.drop_ended(now);
        state.move_to(ends, renewed);
        true
    }
}
