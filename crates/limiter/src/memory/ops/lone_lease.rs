//! Operations on a key with one lease and nothing else: they are decided over a copy, which goes back into its record.

use tollgate_core::storage::{Handle, Outcome, State};
use tollgate_core::{Act, Op, StoreError, Time};

use super::whole::{decide_new, decide_one};
use crate::memory::store::MemoryStore;
use crate::memory::table::account::Account;
use crate::memory::table::lone_leases::{FoundLease, state_of_lease, was_given_back};
use crate::memory::table::shard::Shard;

impl MemoryStore {
    /// Decides over a lone lease. Returns `None` if there is no room for what it becomes.
    #[inline(always)]
    pub(super) fn decide_lone_lease(
        &self,
        op: &Op<'_>,
        handle: Option<Handle>,
        (shard, fingerprint, found): (&mut Shard, u64, FoundLease),
        now: Time,
    ) -> Option<Result<Outcome, StoreError>> {
        let (account, lease) = (self.account(op.policy), found.record);
        if !self.layout.lease_counts_in(lease, account.quota()) {
            return None;
        }
        let mut state = (!was_given_back(lease)).then(|| state_of_lease(lease));
        let outcome = match state {
            Some(_) => decide_one(op, handle, &mut state, now),
            None => decide_new(op, handle, &mut state, now),
        };
        match state.as_ref().map(State::lone_lease) {
            None if op.act == Act::Reset || self.is_short_of_keys(&account, now) => {
                shard.remove_lone_lease(fingerprint);
                self.remove_keys(account.quota(), 1);
            }
            // For the next lease of this key, while no other needs the place.
            None => shard.end_lone_lease(found),
            Some(Some(lease)) => shard.replace_lone_lease(found, lease),
            Some(None) => self.move_lone_lease(state?, &account, (shard, fingerprint), now)?,
        }
        Some(outcome)
    }

    /// Puts a state that was a lone lease elsewhere. Returns `None` if there is no room for it.
    #[cold]
    fn move_lone_lease(
        &self,
        state: State,
        account: &Account,
        (shard, fingerprint): (&mut Shard, u64),
        now: Time,
    ) -> Option<()> {
        let form = self.layout.form_of(&state, account.quota());
        let growth = shard.growth_of(form, 1).plus(state.footprint().into());
        if !self.memory.has_room(account.share, growth) {
            return None;
        }
        shard.remove_lone_lease(fingerprint);
        let dropped = self.put_new(shard, fingerprint, state, account, now);
        self.budget.keys.remove(dropped);
        Some(())
    }
}
