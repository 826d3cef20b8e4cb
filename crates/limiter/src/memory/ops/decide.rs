//! The general path: the core decides over states that are taken out of the table meanwhile.

use tollgate_core::storage::{Handle, OpStorage as _, Outcome, State, decide};
use tollgate_core::{Act, Decision, Item, Op, StoreError, Time};

use super::locked_shards::{ItemRange, LockedShards, Shards};
use super::make_room::Needed;
use super::states::{States, count, missing};
use crate::hash::Scope;
use crate::memory::store::MemoryStore;
use crate::memory::table::account::Account;
use crate::memory::table::memory_budget::Growth;

impl MemoryStore {
    /// Decides any operation, once if it has an id.
    pub(super) fn decide_locked(
        &self,
        op: &Op<'_>,
        items: ItemRange,
        locked: &mut LockedShards<'_>,
        now: Time,
    ) -> Result<Decision, StoreError> {
        let scope = if op.concerns_ids() { locked.scope(items) } else { Scope::NONE };
        let handle = op.id.map(|id| scope.handle(id));
        let holds = |position: usize, item: &Item<'_>, handle| {
            let found = locked.shard_to_read(items.first.saturating_add(position));
            found.is_some_and(|(shard, hash)| {
                shard.still_holds(hash.fingerprint_at(position), item, handle, now)
            })
        };
        if let Some(decision) = self.recall(op, (scope, handle), now, holds) {
            return Ok(decision);
        }
        let outcome = self.decide_states(op, handle, items, locked, now)?;
        Ok(self.remember(op, (scope, handle), outcome, now))
    }

    /// Returns the decision that the operation was given before under its id, unless it took leases and one of them is
    /// no longer held. `holds` returns whether an item of it holds its own.
    #[inline]
    pub(super) fn recall(
        &self,
        op: &Op<'_>,
        (scope, handle): (Scope, Option<Handle>),
        now: Time,
        holds: impl Fn(usize, &Item<'_>, Handle) -> bool,
    ) -> Option<Decision> {
        let decision = self.ids.find(scope, op, handle, now)?;
        let is_held = |(position, item): (usize, &Item<'_>)| {
            handle.is_some_and(|handle| holds(position, item, handle))
        };
        let still_holds = !op.takes_leases() || op.items.iter().enumerate().all(is_held);
        still_holds.then_some(decision)
    }

    /// Remembers an operation that was done, if it has an id. Returns the decision.
    #[inline(always)]
    pub(super) fn remember(
        &self,
        op: &Op<'_>,
        (scope, handle): (Scope, Option<Handle>),
        mut outcome: Outcome,
        now: Time,
    ) -> Decision {
        if op.concerns_ids() {
            let horizon = self.layout.horizon(now);
            self.ids.record(scope, op, handle, &mut outcome, (now, horizon));
        }
        outcome.decision
    }

    /// Decides over the states of the items, which are taken out for it and put back.
    fn decide_states(
        &self,
        op: &Op<'_>,
        handle: Option<Handle>,
        items: ItemRange,
        locked: &mut LockedShards<'_>,
        now: Time,
    ) -> Result<Outcome, StoreError> {
        let account = self.account(op.policy);
        let mut taken = self.take_states(items, &account, locked);
        let mut needed = self.needed(op.act, &taken.states, items, locked);
        let mut has_room = self.add_if_room(&needed, &account);
        if !has_room {
            // Put back first, so that those of them that have reset can be dropped too.
            self.put_states(taken, items, &account, locked, now);
            self.make_room(&needed, &account, locked, now);
            taken = self.take_states(items, &account, locked);
            needed = self.needed(op.act, &taken.states, items, locked);
            has_room = self.add_if_room(&needed, &account);
        }
        let states = &mut taken.states;
        let before = missing(states);
        let (outcome, added) = if has_room {
            (decide(op, handle, states, now), before)
        } else {
            self.decide_when_full(op, handle, (states, items, &account, locked), now)
        };
        let after = missing(states);
        self.remove_keys(account.quota(), added.saturating_add(after).saturating_sub(before));
        self.put_states(taken, items, &account, locked, now);
        if after < before {
            locked.for_each(items, |shard, fingerprint| {
                self.budget.keys.remove(shard.sweep_few(&self.layout, fingerprint, now));
            });
        }
        self.memory.count_tables(locked.take_change());
        outcome
    }

    /// Returns the room for whatever the operation may leave.
    fn needed(
        &self,
        act: Act,
        states: &States,
        items: ItemRange,
        locked: &mut LockedShards<'_>,
    ) -> Needed {
        let mut growth = Growth::default();
        for state in states {
            growth.lists = growth.lists.plus(State::max_growth(state.as_ref(), act));
        }
        locked.for_each(items, |shard, _| {
            // As if all of them were in this shard, as they mostly are.
            growth = growth.plus(shard.max_growth(count(states)));
        });
        Needed { keys: missing(states), growth }
    }

    /// Counts the missing states and returns true, if there is room.
    fn add_if_room(&self, needed: &Needed, account: &Account) -> bool {
        self.memory.has_room(account.share, needed.growth)
            && self.try_add_keys(account.quota(), needed.keys)
    }
}
