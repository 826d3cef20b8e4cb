//! The general path: the core decides over states that are taken out of the table meanwhile.

use tollgate_core::storage::{Handle, OpStorage as _, Outcome, decide};
use tollgate_core::{Decision, Op, StoreError, Time};

use super::locked_shards::{ItemRange, LockedShards};
use super::states::missing;
use crate::memory::store::MemoryStore;

impl MemoryStore {
    /// Decides any operation, once if it has an id.
    pub(super) fn decide_locked(
        &self,
        op: &Op<'_>,
        items: ItemRange,
        locked: &mut LockedShards<'_>,
        now: Time,
    ) -> Result<Decision, StoreError> {
        let handle = self.secret.handle(op);
        if let Some(decision) = self.ids.find(self.secret, op, handle, now) {
            return Ok(decision);
        }
        let mut outcome = self.decide_states(op, handle, items, locked, now)?;
        if op.concerns_ids() {
            let horizon = self.layout.horizon(now);
            self.ids.record(self.secret, op, handle, &mut outcome, (now, horizon));
        }
        Ok(outcome.decision)
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
        let mut states = self.take_states(items, locked);
        let mut room = self.budget.try_add(missing(&states));
        if !room {
            // Put back first, so that those of them that have reset can be dropped too.
            self.put_states(states, items, locked, now);
            self.make_room(items.count, locked, now);
            states = self.take_states(items, locked);
            room = self.budget.try_add(missing(&states));
        }
        let before = missing(&states);
        let outcome = if room {
            decide(op, handle, &mut states, now)
        } else {
            self.decide_when_full(op, handle, &mut states, now)
        };
        let after = missing(&states);
        let added = if room { before } else { 0 };
        self.budget.remove(added.saturating_add(after).saturating_sub(before));
        self.put_states(states, items, locked, now);
        if after < before {
            locked.for_each(items, |shard, fingerprint| {
                self.budget.remove(shard.sweep_few(&self.layout, fingerprint, now));
            });
        }
        outcome
    }
}
