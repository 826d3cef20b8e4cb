//! A check of several limits in their records: no state is taken out of the table.
//!
//! First all of them are asked whether the cost fits; then each takes it or does not, on a copy of its record. The
//! copies are written when all is decided. The code is compiled for each number of limits, so that lists of a known
//! length need no checks.

use std::num::NonZeroU32;

use tollgate_core::storage::DecisionBuilder;
use tollgate_core::{Act, Decision, Item, LimitStatus, Op, Time};

use super::few_shards::{FewShards, MAX_SEVERAL, OneShard};
use super::locked_shards::{LockedShards, Shards};
use super::single_check::{Record as _, SingleCheck};
use crate::memory::store::MemoryStore;
use crate::memory::table::found_record::FoundRecord;
use crate::memory::table::layout::Layout;

/// Index of the terms of each limit, as far as it is known already.
type TermsIndices = [Option<NonZeroU32>];

/// Returns whether the operation is a check of several limits without an id, whose status is not asked for.
#[inline]
fn is_check_of_several(op: &Op<'_>) -> bool {
    (2..=MAX_SEVERAL).contains(&op.items.len())
        && op.act == Act::Check
        && op.id.is_none()
        && op.statuses.is_none()
}

impl MemoryStore {
    /// Checks several limits in their records. Returns `None` if this needs the general path.
    #[inline(always)]
    pub(super) fn check_several(
        &self,
        op: &Op<'_>,
        indices: &TermsIndices,
        now: Time,
    ) -> Option<Decision> {
        if !is_check_of_several(op) {
            return None;
        }
        if let Some(mut one) = OneShard::lock(self, op) {
            return self.check_in_shards(op, indices, 0, &mut one, now);
        }
        let mut few = FewShards::none();
        few.try_lock(self, op)?;
        self.check_in_shards(op, indices, 0, &mut few, now)
    }

    /// As [`check_several`](MemoryStore::check_several), for the operation of a batch whose first item is `first`.
    #[inline]
    pub(super) fn check_several_locked(
        &self,
        op: &Op<'_>,
        first: usize,
        locked: &mut LockedShards<'_>,
        now: Time,
    ) -> Option<Decision> {
        if !is_check_of_several(op) {
            return None;
        }
        self.check_in_shards(op, &[], first, locked, now)
    }

    /// Checks several limits whose states are all records, written under the terms of their limits. The items of the
    /// operation are those from `first` on in `locked`.
    #[inline(always)]
    fn check_in_shards(
        &self,
        op: &Op<'_>,
        indices: &TermsIndices,
        first: usize,
        locked: &mut impl Shards,
        now: Time,
    ) -> Option<Decision> {
        match op.items.len() {
            2 => self.check_items::<2>(op.items.try_into().ok()?, indices, first, locked, now),
            3 => self.check_items::<3>(op.items.try_into().ok()?, indices, first, locked, now),
            4 => self.check_items::<4>(op.items.try_into().ok()?, indices, first, locked, now),
            _ => None,
        }
    }

    #[inline(always)]
    fn check_items<const N: usize>(
        &self,
        items: &[Item<'_>; N],
        indices: &TermsIndices,
        first: usize,
        locked: &mut impl Shards,
        now: Time,
    ) -> Option<Decision> {
        let mut records = [FoundRecord::NONE; N];
        let mut allowed = true;
        for (position, (item, record)) in items.iter().zip(&mut records).enumerate() {
            let (shard, hash) = locked.shard_to_read(first.wrapping_add(position))?;
            *record = FoundRecord::find(shard, hash.fingerprint_at(position))?;
            let terms_index = indices.get(position).copied().flatten();
            let check = SingleCheck { terms_index, ..SingleCheck::of_item(item) };
            allowed &= record.fits(&check, &self.layout, now)?;
        }
        let mut decision = DecisionBuilder::new(allowed);
        for (item, record) in items.iter().zip(&mut records) {
            let check = SingleCheck::of_item(item);
            decision.add(record.update(&check, &self.layout, now, allowed)?);
        }
        if allowed {
            for (position, record) in records.iter().enumerate() {
                let (shard, _) = locked.shard(first.wrapping_add(position))?;
                record.write_to(shard);
            }
        }
        Some(decision.build())
    }
}

impl FoundRecord {
    /// Returns whether the cost fits; `None` if the state was not written under the limit's own terms, or this needs
    /// the general path.
    #[inline(always)]
    fn fits(&self, check: &SingleCheck<'_>, layout: &Layout, now: Time) -> Option<bool> {
        match self {
            FoundRecord::OneWord(_, record) => record.fits(check, layout, now),
            FoundRecord::ThreeWords(_, record) => record.fits(check, layout, now),
        }
    }

    /// Takes a cost that fits, if it `takes` anything.
    #[inline(always)]
    fn update(
        &mut self,
        check: &SingleCheck<'_>,
        layout: &Layout,
        now: Time,
        takes: bool,
    ) -> Option<LimitStatus> {
        match self {
            FoundRecord::OneWord(_, record) => record.update(check, layout, now, takes),
            FoundRecord::ThreeWords(_, record) => record.update(check, layout, now, takes),
        }
    }
}
