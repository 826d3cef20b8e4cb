//! States that are not packed, as those of several slots and of leases: they are checked, and decided over, where they
//! lie.

use std::slice;

use tollgate_core::storage::{Handle, LimitStorage as _, Outcome, State, decide};
use tollgate_core::{Act, Decision, Name, Op, StoreError, Subject, Time};

use super::few_shards::cached_hash_of;
use super::single_check::SingleCheck;
use crate::memory::store::MemoryStore;
use crate::memory::table::shard::Shard;

impl MemoryStore {
    /// Checks one limit whose states are not packed, or not all of them: the shortest path to them. Returns `None` if
    /// this needs the general path.
    pub(crate) fn check_whole(
        &self,
        policy: &Name,
        subject: Subject<'_>,
        check: &SingleCheck<'_>,
        now: Time,
    ) -> Option<Decision> {
        if check.limit.is_packed() {
            return None;
        }
        let hash = cached_hash_of(self, policy, subject);
        let mut shard = self.shard(self.shard_index(hash))?.lock();
        let (account, fingerprint) = (self.account(policy), hash.fingerprint_at(0));
        let checked = shard.check_whole(fingerprint, &account, |state| {
            let growth = State::max_growth(Some(state), Act::Check);
            let check = || check.limit.check_in_place(state, check.cost, None, now);
            self.memory.has_room_for_lists(account.share, growth).then(check).flatten()
        });
        let Some((decision, growth)) = checked else {
            let may_be_packed = check.limit.may_be_packed();
            let check =
                || self.check_three_words_or_new(policy, &mut shard, fingerprint, check, now);
            return may_be_packed.then(check).flatten();
        };
        self.memory.count_lists(account.share, growth);
        Some(decision)
    }

    /// Decides over a state that is not packed. Returns `None` if it may grow and there is no room.
    pub(super) fn decide_whole(
        &self,
        op: &Op<'_>,
        handle: Option<Handle>,
        (shard, fingerprint): (&mut Shard, u64),
        now: Time,
    ) -> Option<Result<Outcome, StoreError>> {
        let account = self.account(op.policy);
        let changed = shard.change_whole(
            &self.layout,
            fingerprint,
            &account,
            &self.memory,
            now,
            |state| {
                let growth = State::max_growth(state.as_ref(), op.act);
                let has_room = self.memory.has_room_for_lists(account.share, growth);
                has_room.then(|| decide_one(op, handle, state, now))
            },
        )?;
        self.memory.count_tables(changed.tables);
        self.memory.count_lists(account.share, changed.lists);
        self.budget.keys.remove(changed.dropped);
        if changed.is_gone {
            self.remove_keys(account.quota(), 1);
        }
        changed.result
    }

    /// Decides over a state that does not exist yet. Returns `None` if there is no room for it.
    #[inline(always)]
    pub(super) fn decide_new_whole(
        &self,
        op: &Op<'_>,
        handle: Option<Handle>,
        (shard, fingerprint): (&mut Shard, u64),
        now: Time,
    ) -> Option<Result<Outcome, StoreError>> {
        let mut state = None;
        let outcome = decide_new(op, handle, &mut state, now);
        let Some(state) = state else { return Some(outcome) };
        let account = self.account(op.policy);
        let form = self.layout.form_of(&state, account.quota());
        let growth = shard.growth_of(form, 1).plus(state.footprint().into());
        if !self.memory.has_room(account.share, growth) || !self.try_add_keys(account.quota(), 1) {
            return None;
        }
        let dropped = self.put_new(shard, fingerprint, state, &account, now);
        let swept = shard.sweep_few(&self.layout, fingerprint, now);
        self.budget.keys.remove(dropped.saturating_add(swept));
        Some(outcome)
    }
}

/// Decides over the state of one limit.
#[inline(always)]
pub(super) fn decide_one(
    op: &Op<'_>,
    handle: Option<Handle>,
    state: &mut Option<State>,
    now: Time,
) -> Result<Outcome, StoreError> {
    match decide_in_place(op, handle, state, now) {
        Some(outcome) => Ok(outcome),
        None => decide(op, handle, slice::from_mut(state), now),
    }
}

/// Decides a check, or a release, over a state: nearly every operation is one. `None` if this needs `decide`.
#[inline(always)]
fn decide_in_place(
    op: &Op<'_>,
    handle: Option<Handle>,
    state: &mut Option<State>,
    now: Time,
) -> Option<Outcome> {
    let [item] = op.items else { return None };
    if op.statuses.is_some() {
        return None;
    }
    match op.act {
        Act::Check => {
            let decision = item.limit.check_in_place(state.as_mut()?, item.cost, handle, now)?;
            Some(Outcome::of_check(op, decision, now))
        }
        Act::Release => {
            let decision = item.limit.release_in_place(state, handle?, item.cost, now)?;
            Some(Outcome::of_release(decision))
        }
        _ => None,
    }
}

/// Decides an operation on a new key.
#[inline(always)]
pub(super) fn decide_new(
    op: &Op<'_>,
    handle: Option<Handle>,
    state: &mut Option<State>,
    now: Time,
) -> Result<Outcome, StoreError> {
    if let ([item], Act::Check, None) = (op.items, op.act, op.statuses)
        && let Some((decision, new)) = item.limit.check_new_in_place(item.cost, handle, now)
    {
        *state = new;
        return Ok(Outcome::of_check(op, decision, now));
    }
    decide(op, handle, slice::from_mut(state), now)
}
