//! The first check of a key: no state is taken out of the table, one is only inserted.

use tollgate_core::storage::LimitStorage as _;
use tollgate_core::{Decision, Name, Op, Time};

use super::few_shards::cached_hash_of;
use super::single_check::{Record as _, SingleCheck};
use crate::memory::store::MemoryStore;
use crate::memory::table::shard::Shard;

impl MemoryStore {
    /// Checks one limit of a key that has no state of one word: in its record of three words, or by
    /// inserting a new state. Returns `None` if this needs the general path.
    pub(super) fn check_or_insert(&self, op: &Op<'_>, now: Time) -> Option<Decision> {
        let (check, subject) = SingleCheck::of(op)?;
        if !check.limit.is_packed() {
            return self.check_whole(op.policy, subject, &check, now);
        }
        let hash = cached_hash_of(self, op.policy, subject);
        let lock = self.shard(self.shard_index(hash))?;
        let mut shard = lock.lock();
        let fingerprint = hash.fingerprint_at(0);
        self.check_three_words_or_new(op.policy, &mut shard, fingerprint, &check, now)
    }

    /// Checks one limit in its record of three words, or inserts a new state.
    pub(super) fn check_three_words_or_new(
        &self,
        policy: &Name,
        shard: &mut Shard,
        fingerprint: u64,
        check: &SingleCheck<'_>,
        now: Time,
    ) -> Option<Decision> {
        let record = shard.three_words_mut(fingerprint);
        let known = record.and_then(|record| record.check(check, &self.layout, now));
        known.or_else(|| self.check_new(policy, shard, fingerprint, check, now))
    }

    /// Checks one limit of a new key and inserts its state into the locked shard. Returns `None` if
    /// the key is known, the store is full, or this needs the general path.
    fn check_new(
        &self,
        policy: &Name,
        shard: &mut Shard,
        fingerprint: u64,
        check: &SingleCheck<'_>,
        now: Time,
    ) -> Option<Decision> {
        if shard.has(fingerprint) {
            return None;
        }
        let quota = self.quotas.of(policy);
        let (decision, state) = check.check_new(&self.layout, quota.as_ref(), now)?;
        // A denied check leaves no state.
        let Some(state) = state else { return Some(decision) };
        let growth = shard.growth_of(state.form(), 1);
        if !self.memory.fits(growth) || !self.try_add_keys(quota.as_ref(), 1) {
            return None;
        }
        let before = shard.tables();
        let dropped = shard.insert(&self.layout, fingerprint, state, now);
        self.memory.count_tables(shard.tables().wrapping_sub(before));
        let swept = shard.sweep_few(&self.layout, fingerprint, now);
        self.budget.keys.remove(dropped.saturating_add(swept));
        Some(decision)
    }
}
