//! An operation on one limit whose state is not packed, as slots and leases never are: it is decided where it lies.

use std::slice;

use tollgate_core::storage::{Handle, LimitStorage as _, Outcome, State, decide};
use tollgate_core::{Decision, Op, StoreError, Time};

use super::few_shards::OneShard;
use super::several::Shards as _;
use super::single_check::SingleCheck;
use crate::memory::store::MemoryStore;
use crate::memory::table::shard::Shard;

impl MemoryStore {
    /// Applies such an operation, once if it has an id. Returns `None` if this needs the general path.
    pub(super) fn apply_to_whole(
        &self,
        op: &Op<'_>,
        now: Time,
    ) -> Option<Result<Decision, StoreError>> {
        let [item] = op.items else { return None };
        let mut one = OneShard::lock(self, op)?;
        let (shard, hash) = one.shard_to_read(0)?;
        let fingerprint = hash.fingerprint_at(0);
        let is_known = shard.has_whole(fingerprint);
        if !is_known && (item.limit.is_packed() || shard.has(fingerprint)) {
            return None;
        }
        let handle = self.secret.handle(op);
        if let Some(decision) = self.ids.find(self.secret, op, handle, now) {
            return Some(Ok(decision));
        }
        let (shard, _) = one.shard(0)?;
        let outcome = if is_known {
            self.decide_whole(op, handle, (shard, fingerprint), now)
        } else {
            self.decide_new(op, handle, (shard, fingerprint), now)
        };
        Some(outcome?.map(|outcome| self.remember(op, handle, outcome, now)))
    }

    /// Decides over a state that is not packed. Returns `None` if it may grow and there is no room.
    fn decide_whole(
        &self,
        op: &Op<'_>,
        handle: Option<Handle>,
        (shard, fingerprint): (&mut Shard, u64),
        now: Time,
    ) -> Option<Result<Outcome, StoreError>> {
        let quota = self.quotas.of(op.policy);
        let changed = shard.change_whole(
            &self.layout,
            fingerprint,
            quota.as_ref(),
            &self.memory,
            now,
            |state| {
                let has_room = self.memory.has_room(State::max_growth(state.as_ref(), op.act));
                has_room.then(|| match check_in_place(op, state, now) {
                    Some(outcome) => Ok(outcome),
                    None => decide(op, handle, slice::from_mut(state), now),
                })
            },
        )?;
        self.memory.count(changed.footprint);
        self.budget.keys.remove(changed.dropped);
        if changed.is_gone {
            self.remove_keys(quota.as_ref(), 1);
        }
        changed.result
    }

    /// Decides over a state that does not exist yet. Returns `None` if there is no room for it.
    fn decide_new(
        &self,
        op: &Op<'_>,
        handle: Option<Handle>,
        (shard, fingerprint): (&mut Shard, u64),
        now: Time,
    ) -> Option<Result<Outcome, StoreError>> {
        let quota = self.quotas.of(op.policy);
        let mut growth = State::max_growth(None, op.act);
        growth.states = growth.states.saturating_add(shard.max_growth(1));
        if !self.memory.has_room(growth) || !self.try_add_keys(quota.as_ref(), 1) {
            return None;
        }
        let mut state = None;
        let outcome = decide(op, handle, slice::from_mut(&mut state), now);
        match state {
            None => self.remove_keys(quota.as_ref(), 1),
            state => {
                let (dropped, change) = shard.measured(|shard| {
                    let dropped = shard.put(
                        &self.layout,
                        fingerprint,
                        state,
                        quota.as_ref(),
                        &self.memory,
                        now,
                    );
                    dropped.saturating_add(shard.sweep_few(&self.layout, fingerprint, now))
                });
                self.memory.count(change);
                self.budget.keys.remove(dropped);
            }
        }
        Some(outcome)
    }
}

/// Decides a plain check over a state, which is nearly every operation. `None` if this needs `decide`.
fn check_in_place(op: &Op<'_>, state: &mut Option<State>, now: Time) -> Option<Outcome> {
    let (check, _) = SingleCheck::of(op)?;
    check.limit.check_in_place(state.as_mut()?, check.cost, now)
}
