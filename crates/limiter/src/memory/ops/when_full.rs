//! Deciding when the store may have no room for what an operation leaves.

use std::ptr;

use smallvec::SmallVec;
use tollgate_core::storage::{Handle, Outcome, State, decide};
use tollgate_core::{Act, Item, Op, Span, StoreError, Time};

use super::locked_shards::{ItemRange, LockedShards};
use super::states::{States, missing};
use crate::memory::store::{MemoryStore, WhenFull};
use crate::memory::table::account::Account;
use crate::memory::table::memory_budget::Growth;
use crate::memory::table::record::Form;
use crate::memory::table::shard::Shard;

/// The `retry_after` of an operation that a full store denies.
const RETRY_WHEN_FULL: Span = Span::from_micros(1_000_000);

/// What an operation is decided over: the states of its items, which have been taken out of the locked shards, and
/// what those of its policy count in.
type Parts<'s, 'l> = (&'s mut States, ItemRange, &'s Account, &'s mut LockedShards<'l>);

impl MemoryStore {
    /// Decides when there may be no room. Operations that need none are done as usual, so that a known key is
    /// never treated as new. Returns also how many states were counted.
    pub(super) fn decide_when_full(
        &self,
        op: &Op<'_>,
        handle: Option<Handle>,
        (states, items, account, locked): Parts<'_, '_>,
        now: Time,
    ) -> (Result<Outcome, StoreError>, usize) {
        let mut after = states.clone();
        // A peek returns what a check would.
        let act = if op.act == Act::Peek { Act::Check } else { op.act };
        let outcome = match decide(&op.with_act(act), handle, &mut after, now) {
            Ok(outcome) => outcome,
            Err(error) => return (Err(error), 0),
        };
        let growths = self.growths(&after, (states, items, account, locked));
        let new = missing(states).saturating_sub(missing(&after));
        let has_room = |growth| self.memory.has_room(account.share, growth);
        let fits = has_room(sum(&growths)) && self.try_add_keys(account.quota(), new);
        if !fits {
            self.budget.count_rejection();
        }
        if !fits && self.when_full == WhenFull::Deny {
            return (reject(op, outcome), 0);
        }
        if op.act == Act::Peek {
            self.remove_keys(account.quota(), if fits { new } else { 0 });
            return (decide(op, handle, states, now), 0);
        }
        for ((before, after), growth) in states.iter_mut().zip(after).zip(growths) {
            // Without room for all of them, what is known counts all the same.
            if fits || before.is_some() && has_room(growth) {
                *before = after;
            }
        }
        (Ok(outcome), if fits { new } else { 0 })
    }

    /// Returns how much more memory each of the states takes after an operation. One that is known finds its place again,
    /// so that only states that have come before it into the same collection may leave it none.
    fn growths(
        &self,
        after: &States,
        (before, items, account, locked): Parts<'_, '_>,
    ) -> SmallVec<[Growth; 4]> {
        let lists =
            |state: &Option<State>| state.as_ref().map(State::footprint).unwrap_or_default();
        let mut growths: SmallVec<[Growth; 4]> = SmallVec::new();
        let mut states = before.iter().zip(after);
        let mut filled: SmallVec<[(*const Shard, Form); 4]> = SmallVec::new();
        locked.for_each(items, |shard, fingerprint| {
            let Some((before, after)) = states.next() else { return };
            let form = after
                .as_ref()
                .and_then(|after| shard.form_of(&self.layout, fingerprint, after, account.quota()));
            let places = form.map_or_else(Growth::default, |form| {
                let collection = (ptr::from_ref(&*shard), form);
                filled.push(collection);
                let more = filled.iter().filter(|other| **other == collection).count();
                shard.growth_of(form, u32::try_from(more).unwrap_or(u32::MAX))
            });
            growths.push(places.plus(lists(after).growth_since(lists(before)).into()));
        });
        growths
    }
}

fn sum(growths: &[Growth]) -> Growth {
    growths.iter().fold(Growth::default(), |sum, growth| sum.plus(*growth))
}

/// Returns the outcome of an operation for which there is no room, and which changed nothing.
fn reject(op: &Op<'_>, mut outcome: Outcome) -> Result<Outcome, StoreError> {
    if !op.act.can_be_denied() {
        return Err(StoreError::full());
    }
    outcome.remember_until = None;
    outcome.forget_id = false;
    outcome.decision.allowed = false;
    outcome.decision.remaining = Some(0);
    outcome.decision.bound_remaining = Some(0);
    outcome.decision.retry_after = Some(RETRY_WHEN_FULL);
    outcome.decision.reset_after = RETRY_WHEN_FULL;
    outcome.decision.bound_reset_after = RETRY_WHEN_FULL;
    // Each limit has no room.
    let full = |item: &Item<'_>| {
        let mut status = outcome.decision.only_status();
        status.limit = item.limit.capacity();
        status
    };
    op.report(op.items.iter().map(full));
    Ok(outcome)
}
