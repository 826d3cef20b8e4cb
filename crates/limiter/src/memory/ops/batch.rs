//! Batches: several operations at once, over any number of limits and subjects.
//!
//! All shards of the batch are locked first; then the operations are decided one after the other.

use tollgate_core::storage::LimitStorage as _;
use tollgate_core::{Decision, Key, Name, Op, StoreError, Subject, Time};

use super::locked_shards::{ItemRange, LockedShards, Shards as _};
use super::single_check::{Record as _, SingleCheck};
use crate::memory::store::MemoryStore;

impl MemoryStore {
    /// Applies operations one after the other, and passes each result to `emit` with the index of its
    /// operation.
    #[inline]
    pub(crate) fn apply_batch(
        &self,
        ops: &[Op<'_>],
        now: Time,
        mut emit: impl FnMut(usize, Result<Decision, StoreError>),
    ) {
        let items = || ops.iter().flat_map(|op| op.items.iter().map(move |item| (op, item)));
        let mut locked = LockedShards::default();
        let subjects = items().map(|(op, item)| (op.policy, item.subject));
        self.lock_all(&mut locked, subjects, |policy, subject| self.secret.hash(policy, subject));
        let mut first = 0_usize;
        for (index, op) in ops.iter().enumerate() {
            let items = ItemRange { first, count: op.items.len() };
            first = first.saturating_add(items.count);
            let known = match SingleCheck::of(op) {
                Some((check, _)) => self.check_locked(&check, items.first, &mut locked, now),
                None => self.check_several_locked(op, items.first, &mut locked, now),
            };
            match known {
                Some(decision) => emit(index, Ok(decision)),
                None => emit(index, self.apply_locked(op, items, &mut locked, now)),
            }
        }
    }

    /// Checks keys of one limit one after the other, and passes each result to `emit`.
    #[inline]
    pub(crate) fn check_batch(
        &self,
        policy: &Name,
        check: &SingleCheck<'_>,
        keys: &[Key<'_>],
        now: Time,
        mut emit: impl FnMut(Result<Decision, StoreError>),
    ) {
        let mut locked = LockedShards::default();
        let subjects = keys.iter().map(|key| (policy, Subject::from(*key)));
        self.lock_all(&mut locked, subjects, |policy, subject| self.secret.hash(policy, subject));
        for (first, key) in keys.iter().enumerate() {
            match self.check_locked(check, first, &mut locked, now) {
                Some(decision) => emit(Ok(decision)),
                None => {
                    let op_items = [check.item(Subject::from(*key))];
                    let items = ItemRange { first, count: 1 };
                    let op = Op::check(policy, &op_items);
                    emit(self.apply_locked(&op, items, &mut locked, now));
                }
            }
        }
    }

    /// Checks a record of one word, as [`MemoryStore::check_one_word`] does, and inlined as that is.
    #[inline(always)]
    fn check_locked(
        &self,
        check: &SingleCheck<'_>,
        item: usize,
        locked: &mut LockedShards<'_>,
        now: Time,
    ) -> Option<Decision> {
        if !check.limit.may_fit_one_word() {
            return None;
        }
        let (shard, hash) = locked.shard(item)?;
        shard.one_word_mut(hash.fingerprint_at(0))?.check(check, &self.layout, now)
    }

    /// Applies any operation whose shards are locked.
    #[inline(never)]
    pub(super) fn apply_locked(
        &self,
        op: &Op<'_>,
        items: ItemRange,
        locked: &mut LockedShards<'_>,
        now: Time,
    ) -> Result<Decision, StoreError> {
        if let Some((check, _)) = SingleCheck::of(op)
            && let Some((shard, hash)) = locked.shard(items.first)
        {
            let fingerprint = hash.fingerprint_at(0);
            let decision =
                self.check_three_words_or_new(op.policy, shard, fingerprint, &check, now);
            if let Some(decision) = decision {
                return Ok(decision);
            }
        }
        self.decide_locked(op, items, locked, now)
    }
}
