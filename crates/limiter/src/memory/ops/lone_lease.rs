//! Operations on a key with one lease and nothing else: they are decided over a copy, which goes back into its record.

use tollgate_core::storage::{Footprint, Handle, Outcome, State};
use tollgate_core::{Op, StoreError, Time};

use super::whole::decide_one;
use crate::memory::store::MemoryStore;
use crate::memory::table::account::Account;
use crate::memory::table::lone_leases::state_of_lease;
use crate::memory::table::record::LeaseRecord;
use crate::memory::table::shard::Shard;

impl MemoryStore {
    /// Decides over a lone lease. Returns `None` if it may grow and there is no room.
    #[inline(always)]
    pub(super) fn decide_lone_lease(
        &self,
        op: &Op<'_>,
        handle: Option<Handle>,
        (shard, fingerprint, lease): (&mut Shard, u64, LeaseRecord),
        now: Time,
    ) -> Option<Result<Outcome, StoreError>> {
        let account = self.account(op.policy);
        if !self.layout.lease_counts_in(lease, account.quota()) {
            return None;
        }
        let mut state = Some(state_of_lease(lease));
        let lists = State::max_growth(state.as_ref(), op.act);
        // What needs no list stays in its record.
        let tables = if lists == Footprint::default() { 0 } else { 1 };
        let growth = shard.max_growth(tables).plus(lists.into());
        if !self.memory.has_room(account.share, growth) {
            return None;
        }
        let outcome = decide_one(op, handle, &mut state, now);
        self.put_lone_lease(state, &account, (shard, fingerprint), now);
        Some(outcome)
    }

    /// Puts back what has become of a lone lease.
    fn put_lone_lease(
        &self,
        state: Option<State>,
        account: &Account,
        (shard, fingerprint): (&mut Shard, u64),
        now: Time,
    ) {
        if let Some(lease) = state.as_ref().and_then(State::lone_lease) {
            shard.replace_lone_lease(fingerprint, lease);
            return;
        }
        shard.remove_lone_lease(fingerprint);
        match state {
            None => self.remove_keys(account.quota(), 1),
            Some(state) => {
                let dropped = self.put_new(shard, fingerprint, state, account, now);
                self.budget.keys.remove(dropped);
            }
        }
    }
}
