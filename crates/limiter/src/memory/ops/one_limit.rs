//! An operation on one limit: mostly it is decided where the state lies.

use tollgate_core::storage::{LimitStorage as _, Outcome};
use tollgate_core::{Act, Decision, Item, Op, StoreError, Time};

use super::few_shards::OneShard;
use super::locked_shards::Shards as _;
use super::single_check::{Record as _, SingleCheck};
use crate::memory::store::MemoryStore;
use crate::memory::table::shard::Shard;

impl MemoryStore {
    /// Applies an operation on one limit, once if it has an id. Returns `None` if this needs the general path.
    pub(super) fn apply_to_one(
        &self,
        op: &Op<'_>,
        now: Time,
    ) -> Option<Result<Decision, StoreError>> {
        let [item] = op.items else { return None };
        let mut one = OneShard::lock(self, op)?;
        let (shard, hash) = one.shard_to_read(0)?;
        let fingerprint = hash.fingerprint_at(0);
        let is_whole = shard.has_whole(fingerprint);
        let is_packed = item.limit.is_packed();
        let is_decided_here =
            is_whole || if is_packed { is_check_with_id(op) } else { !shard.has(fingerprint) };
        if !is_decided_here {
            return None;
        }
        let handle = self.secret.handle(op);
        if let Some(decision) = self.recall(op, handle, 0, &one, now) {
            return Some(Ok(decision));
        }
        let (shard, _) = one.shard(0)?;
        let outcome = match (is_whole, is_packed) {
            (true, _) => self.decide_whole(op, handle, (shard, fingerprint), now),
            (false, true) => self.check_packed(op, item, (shard, fingerprint), now).map(Ok),
            (false, false) => self.decide_new_whole(op, handle, (shard, fingerprint), now),
        };
        Some(outcome?.map(|outcome| self.remember(op, handle, outcome, now)))
    }

    /// Checks a limit in the record of its state, or inserts one.
    fn check_packed(
        &self,
        op: &Op<'_>,
        item: &Item<'_>,
        (shard, fingerprint): (&mut Shard, u64),
        now: Time,
    ) -> Option<Outcome> {
        let check = SingleCheck::of_item(item);
        let decision = match shard.one_word_mut(fingerprint) {
            Some(record) => record.check(&check, &self.layout, now),
            None => self.check_three_words_or_new(op.policy, shard, fingerprint, &check, now),
        };
        Some(Outcome::of_check(op, decision?, now))
    }
}

/// Returns whether it is a check with an id, whose status is not asked for.
fn is_check_with_id(op: &Op<'_>) -> bool {
    op.act == Act::Check && op.id.is_some() && op.statuses.is_none()
}
