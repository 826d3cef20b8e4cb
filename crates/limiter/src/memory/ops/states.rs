//! The states of one operation: taken out of the locked shards, and put back.

use std::sync::Arc;

use smallvec::SmallVec;
use tollgate_core::storage::{Footprint, State};
use tollgate_core::{Name, Time};

use super::locked_shards::{ItemRange, LockedShards};
use crate::memory::shares::Shares;
use crate::memory::store::MemoryStore;
use crate::memory::table::account::Account;
use crate::memory::table::quota::Quota;
use crate::memory::table::shard::Shard;

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

/// States that were taken out, and the memory of their lists, which still counts as it was.
pub(super) struct TakenStates {
    pub(super) states: States,
    lists: Footprint,
}

impl MemoryStore {
    /// Returns what the states of a policy count in.
    #[inline]
    pub(super) fn account(&self, policy: &Name) -> Account {
        Account { quota: self.quotas.of(policy), share: Shares::of(policy) }
    }

    pub(super) fn take_states(
        &self,
        items: ItemRange,
        account: &Account,
        locked: &mut LockedShards<'_>,
    ) -> TakenStates {
        let mut states = States::new();
        let mut lists = Footprint::default();
        locked.for_each(items, |shard, fingerprint| {
            let state = shard.take(&self.layout, fingerprint, account, &self.memory);
            lists = lists.plus(state.as_ref().map(State::footprint).unwrap_or_default());
            states.push(state);
        });
        TakenStates { states, lists }
    }

    pub(super) fn put_states(
        &self,
        taken: TakenStates,
        items: ItemRange,
        account: &Account,
        locked: &mut LockedShards<'_>,
        now: Time,
    ) {
        let mut lists = Footprint::default();
        let mut states = taken.states.into_iter();
        locked.for_each(items, |shard, fingerprint| {
            let state = states.next().flatten();
            let put = shard.put(&self.layout, fingerprint, state, account, &self.memory, now);
            lists = lists.plus(put.lists);
            self.budget.keys.remove(put.dropped);
        });
        self.memory.count_lists(account.share, lists.minus(taken.lists));
    }

    /// Inserts a new state. Returns the number of other states that were dropped meanwhile because they had reset.
    pub(in crate::memory) fn put_new(
        &self,
        shard: &mut Shard,
        fingerprint: u64,
        state: State,
        account: &Account,
        now: Time,
    ) -> usize {
        let put = |shard: &mut Shard| {
            shard.put(&self.layout, fingerprint, Some(state), account, &self.memory, now)
        };
        let (put, tables) = shard.measured(put);
        self.memory.count_tables(tables);
        self.memory.count_lists(account.share, put.lists);
        put.dropped
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
