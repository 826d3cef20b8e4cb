//! The states of one operation: taken out of the locked shards, and put back.

use std::sync::Arc;

use smallvec::SmallVec;
use tollgate_core::Time;
use tollgate_core::storage::State;

use super::locked_shards::{ItemRange, LockedShards};
use crate::memory::store::MemoryStore;
use crate::memory::table::quota::Quota;

/// The states that an operation decides over, one for each item.
pub(super) type States = SmallVec<[Option<State>; 4]>;

/// Returns the number of items.
pub(super) fn count(states: &[Option<State>]) -> u32 {
    u32::try_from(states.len()).unwrap_or(u32::MAX)
}

/// Returns the number of items that have no state.
pub(super) fn missing(states: &[Option<State>]) -> usize {
    states.iter().filter(|state| state.is_none()).count()
}

impl MemoryStore {
    pub(super) fn take_states(
        &self,
        items: ItemRange,
        quota: Option<&Arc<Quota>>,
        locked: &mut LockedShards<'_>,
    ) -> States {
        let mut states = States::new();
        locked.for_each(items, |shard, fingerprint| {
            states.push(shard.take(&self.layout, fingerprint, quota));
        });
        states
    }

    pub(super) fn put_states(
        &self,
        states: States,
        items: ItemRange,
        quota: Option<&Arc<Quota>>,
        locked: &mut LockedShards<'_>,
        now: Time,
    ) {
        let mut states = states.into_iter();
        locked.for_each(items, |shard, fingerprint| {
            let state = states.next().flatten();
            let dropped = shard.put(&self.layout, fingerprint, state, quota, &self.memory, now);
            self.budget.keys.remove(dropped);
        });
    }

    /// Counts so many new states of a policy with this quota, and returns true, if there may be as many.
    pub(super) fn try_add_keys(&self, quota: Option<&Arc<Quota>>, more: usize) -> bool {
        if !self.budget.keys.try_add(more) {
            return false;
        }
        let is_within = quota.is_none_or(|quota| quota.try_add(more));
        if !is_within {
            self.budget.keys.remove(more);
        }
        is_within
    }

    /// Counts so many states less of a policy with this quota.
    pub(super) fn remove_keys(&self, quota: Option<&Arc<Quota>>, fewer: usize) {
        self.budget.keys.remove(fewer);
        if let Some(quota) = quota {
            quota.remove(fewer);
        }
    }
}
