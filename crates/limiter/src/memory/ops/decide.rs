//! The general path: the core decides over states that are taken out of the table meanwhile.

use std::sync::Arc;

use tollgate_core::storage::{Footprint, Handle, OpStorage as _, Outcome, State, decide};
use tollgate_core::{Act, Decision, Op, StoreError, Time};

use super::locked_shards::{ItemRange, LockedShards};
use super::make_room::Needed;
use super::states::{States, count, missing};
use crate::hash::Scope;
use crate::memory::store::MemoryStore;
use crate::memory::table::quota::Quota;

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
        if let Some(decision) = self.ids.find(scope, op, handle, now) {
            return Ok(decision);
        }
        let outcome = self.decide_states(op, handle, items, locked, now)?;
        Ok(self.remember(op, (scope, handle), outcome, now))
    }

    /// Remembers an operation that was done, if it has an id. Returns the decision.
    #[inline]
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
        let quota = self.quotas.of(op.policy);
        let quota = quota.as_ref();
        let mut states = self.take_states(items, quota, locked);
        let mut needed = self.needed(op.act, &states, items, locked);
        let mut has_room = self.add_if_room(&needed, quota);
        if !has_room {
            // Put back first, so that those of them that have reset can be dropped too.
            self.put_states(states, items, quota, locked, now);
            self.make_room(&needed, quota, locked, now);
            states = self.take_states(items, quota, locked);
            needed = self.needed(op.act, &states, items, locked);
            has_room = self.add_if_room(&needed, quota);
        }
        let before = missing(&states);
        let (outcome, added) = if has_room {
            (decide(op, handle, &mut states, now), before)
        } else {
            self.decide_when_full(op, handle, (&mut states, items, quota, locked), now)
        };
        let after = missing(&states);
        self.remove_keys(quota, added.saturating_add(after).saturating_sub(before));
        self.put_states(states, items, quota, locked, now);
        if after < before {
            locked.for_each(items, |shard, fingerprint| {
                self.budget.keys.remove(shard.sweep_few(&self.layout, fingerprint, now));
            });
        }
        self.memory.count(locked.take_change());
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
        let mut growth = Footprint::default();
        for state in states {
            growth = growth.plus(State::max_growth(state.as_ref(), act));
        }
        locked.for_each(items, |shard, _| {
            // As if all of them were in this shard, as they mostly are.
            growth.states = growth.states.saturating_add(shard.max_growth(count(states)));
        });
        Needed { keys: missing(states), growth }
    }

    /// Counts the missing states and returns true, if there is room.
    fn add_if_room(&self, needed: &Needed, quota: Option<&Arc<Quota>>) -> bool {
        self.memory.has_room(needed.growth) && self.try_add_keys(quota, needed.keys)
    }
}
