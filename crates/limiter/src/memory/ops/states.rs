//! The states of one operation: taken out of the locked shards, and put back.

use smallvec::SmallVec;
use tollgate_core::Time;
use tollgate_core::storage::State;

use super::locked_shards::{ItemRange, LockedShards};
use crate::memory::store::MemoryStore;

/// The states that an operation decides over, one for each item.
pub(super) type States = SmallVec<[Option<State>; 4]>;

/// Returns the number of items that have no state.
pub(super) fn missing(states: &[Option<State>]) -> usize {
    states.iter().filter(|state| state.is_none()).count()
}

impl MemoryStore {
    pub(super) fn take_states(&self, items: ItemRange, locked: &mut LockedShards<'_>) -> States {
        let mut states = States::new();
        locked.for_each(items, |shard, fingerprint| {
            states.push(shard.take(&self.layout, fingerprint));
        });
        states
    }

    pub(super) fn put_states(
        &self,
        states: States,
        items: ItemRange,
        locked: &mut LockedShards<'_>,
        now: Time,
    ) {
        let mut states = states.into_iter();
        locked.for_each(items, |shard, fingerprint| {
            if let Some(state) = states.next().flatten() {
                self.budget.remove(shard.put(&self.layout, fingerprint, state, now));
            }
        });
    }
}
