//! An operation on one limit: mostly it is decided where the state lies.

use tollgate_core::storage::{Handle, LimitStorage as _, Outcome};
use tollgate_core::{Act, Decision, Item, Op, StoreError, Time};

use super::few_shards::cached_hash_of;
use super::single_check::{Record as _, SingleCheck};
use crate::hash::{Hash, Scope};
use crate::memory::store::MemoryStore;
use crate::memory::table::shard::Shard;

/// What an operation on one limit is about: its item, and the hash of the subject.
#[derive(Clone, Copy)]
struct Located<'a> {
    item: &'a Item<'a>,
    hash: Hash,
    scope: Scope,
    handle: Option<Handle>,
}

impl MemoryStore {
    /// Applies an operation on one limit, once if it has an id.
    #[inline(never)]
    pub(super) fn apply_to_one(
        &self,
        op: &Op<'_>,
        item: &Item<'_>,
        at: Option<Time>,
    ) -> Result<Decision, StoreError> {
        let hash = cached_hash_of(self, op.policy, item.subject);
        let scope = Scope::of_one(hash);
        let handle = op.id.map(|id| scope.handle(id));
        if op.act.is_remembered() {
            // As early as possible: the memory for ids is large, and the look-up is bound by the wait for it.
            self.ids.prefetch(handle, op.act);
        }
        let now = self.now(at);
        match self.apply_located(op, &Located { item, hash, scope, handle }, now) {
            Some(result) => result,
            None => self.apply_unpacked(op, now),
        }
    }

    /// Returns `None` if this needs the general path.
    #[inline(always)]
    fn apply_located(
        &self,
        op: &Op<'_>,
        located: &Located<'_>,
        now: Time,
    ) -> Option<Result<Decision, StoreError>> {
        let Located { item, hash, scope, handle } = *located;
        let lock = self.shard(self.shard_index(hash))?;
        let mut shard = lock.lock();
        let fingerprint = hash.fingerprint_at(0);
        let lone = shard.lone_lease(fingerprint);
        let is_long = lone.is_some() || shard.has_whole(fingerprint);
        if !is_long && item.limit.may_be_packed() && is_check_with_id(op) {
            return self.check_packed(op, located, &mut shard, now);
        }
        let is_new = || !item.limit.is_packed() && !shard.has(fingerprint);
        if !is_long && !is_new() {
            return None;
        }
        let holds = |_, item: &Item<'_>, id| shard.still_holds(fingerprint, item, id, now);
        if let Some(decision) = self.recall(op, (scope, handle), now, holds) {
            return Some(Ok(decision));
        }
        let place = (&mut *shard, fingerprint);
        let outcome = match lone {
            Some(lease) => self.decide_lone_lease(op, handle, (place.0, place.1, lease), now),
            None if is_long => self.decide_whole(op, handle, place, now),
            None => self.decide_new_whole(op, handle, place, now),
        };
        Some(outcome?.map(|outcome| self.remember(op, (scope, handle), outcome, now)))
    }

    /// Checks a limit in the record of its state, or inserts one. The operation has an id.
    #[inline(always)]
    fn check_packed(
        &self,
        op: &Op<'_>,
        located: &Located<'_>,
        shard: &mut Shard,
        now: Time,
    ) -> Option<Result<Decision, StoreError>> {
        let Located { item, hash, scope, handle } = *located;
        let check = SingleCheck::of_item(item);
        let fingerprint = hash.fingerprint_at(0);
        // On a copy, before the id is looked up: the memory for ids is on its way meanwhile.
        let checked = shard.one_word(fingerprint).copied().map(|mut record| {
            let decision = record.check(&check, &self.layout, now);
            (decision, record)
        });
        if let Some((decision, checked)) = checked {
            let mut outcome = Outcome::of_check(op, decision?, now);
            let times = (now, self.layout.horizon(now));
            let found = self.ids.find_or_record(scope, op, handle, &mut outcome, times);
            if found.is_none() {
                *shard.one_word_mut(fingerprint)? = checked;
            }
            return Some(Ok(found.unwrap_or(outcome.decision)));
        }
        if let Some(decision) = self.ids.find(scope, op, handle, now) {
            return Some(Ok(decision));
        }
        let decision = self.check_three_words_or_new(op.policy, shard, fingerprint, &check, now)?;
        let outcome = Outcome::of_check(op, decision, now);
        Some(Ok(self.remember(op, (scope, handle), outcome, now)))
    }
}

/// Returns whether it is a check with an id, whose status is not asked for.
fn is_check_with_id(op: &Op<'_>) -> bool {
    op.act == Act::Check && op.id.is_some() && op.statuses.is_none()
}
