//! The entry points: one operation, or many.

use std::num::NonZeroU32;
use std::slice;

use tollgate_core::{Apply, Decision, Op, Store, StoreError, Time};

use super::locked_shards::BATCH_SIZE;
use super::single_check::SingleCheck;
use crate::memory::store::MemoryStore;

impl MemoryStore {
    /// Applies one operation, at the time `at`. `None` means the store's own clock.
    ///
    /// # Errors
    /// Fails if the operation is malformed, if the debt would be too large, or if the store is full
    /// and the operation cannot be denied.
    pub fn apply_one(&self, op: &Op<'_>, at: Option<Time>) -> Result<Decision, StoreError> {
        let Some((check, subject)) = SingleCheck::of(op) else {
            return match op.items {
                [item] => self.apply_to_one(op, item, at),
                _ => self.apply_alone(op, self.now(at)),
            };
        };
        let now = self.now(at);
        if let Some(decision) = self.check_one_word(op.policy, subject, &check, now) {
            return Ok(decision);
        }
        self.apply_general(op, now)
    }

    /// As [`apply_one`](MemoryStore::apply_one), for a limiter that knows the indices of the terms of its limits.
    #[inline(always)]
    pub(crate) fn apply_prepared(
        &self,
        op: &Op<'_>,
        indices: &[Option<NonZeroU32>],
        at: Option<Time>,
    ) -> Result<Decision, StoreError> {
        if op.items.len() == 1 {
            return self.apply_one(op, at);
        }
        let now = self.now(at);
        match self.check_several(op, indices, now) {
            Some(decision) => Ok(decision),
            None => self.apply_unpacked(op, now),
        }
    }

    #[inline]
    pub(super) fn now(&self, at: Option<Time>) -> Time {
        at.unwrap_or_else(|| self.clock.now())
    }

    /// Applies any operation, without the cached records.
    #[cold]
    #[inline(never)]
    pub(crate) fn apply_general(&self, op: &Op<'_>, now: Time) -> Result<Decision, StoreError> {
        if let Some(decision) = self.check_or_insert(op, now) {
            return Ok(decision);
        }
        self.apply_alone(op, now)
    }

    /// Applies an operation that is not a check of one record.
    #[inline(never)]
    pub(crate) fn apply_alone(&self, op: &Op<'_>, now: Time) -> Result<Decision, StoreError> {
        match (op.items, self.check_several(op, &[], now)) {
            (_, Some(decision)) => Ok(decision),
            ([item], _) => self.apply_to_one(op, item, Some(now)),
            _ => self.apply_unpacked(op, now),
        }
    }

    /// Applies an operation that is not a check of records alone.
    #[inline(never)]
    pub(super) fn apply_unpacked(&self, op: &Op<'_>, now: Time) -> Result<Decision, StoreError> {
        self.go_on_with_round(now);
        let mut result = Err(StoreError::unanswered());
        self.apply_batch(slice::from_ref(op), now, |_, given| result = given);
        result
    }
}

impl Store for MemoryStore {
    fn apply<'a>(
        &'a self,
        ops: &'a [Op<'a>],
        at: Option<Time>,
        out: &'a mut [Result<Decision, StoreError>],
    ) -> Apply<'a> {
        let now = self.now(at);
        if let ([op], [out]) = (ops, &mut *out) {
            *out = self.apply_one(op, Some(now));
            return Apply::Ready;
        }
        // Operations without a slot for their result are not applied.
        let ops = ops.get(..out.len()).unwrap_or(ops);
        self.go_on_with_round(now);
        for (ops, out) in ops.chunks(BATCH_SIZE).zip(out.chunks_mut(BATCH_SIZE)) {
            self.apply_batch(ops, now, |index, given| {
                if let Some(result) = out.get_mut(index) {
                    *result = given;
                }
            });
        }
        Apply::Ready
    }
}
