//! A check of several limits in their records: no state is taken out of the table.
//!
//! All of them are checked first, on copies. Only if all allow it, the records are written.

use tollgate_core::{Act, Decision, Item, LimitStatus, Op, Time};

use super::single_check::{Record, SingleCheck};
use crate::hash::Hash;
use crate::memory::store::MemoryStore;
use crate::memory::table::layout::Layout;
use crate::memory::table::record::{OneWordRecord, ThreeWordRecord};
use crate::memory::table::shard::Shard;

/// The locked shards of items.
pub(super) trait Shards {
    /// Returns the shard of an item, and the hash of its subject.
    fn shard(&mut self, item: usize) -> Option<(&mut Shard, Hash)>;
    /// As [`shard`](Shards::shard), if nothing is changed: what other threads have read stays valid.
    fn shard_to_read(&self, item: usize) -> Option<(&Shard, Hash)>;
}

/// The record of a state, in either form.
#[derive(Clone, Copy)]
enum AnyRecord {
    OneWord(OneWordRecord),
    ThreeWords(ThreeWordRecord),
}

/// Maximum number of limits that are checked in their records. More are rare, and take the general path.
pub(super) const MAX_SEVERAL: usize = 4;

/// Returns whether the operation is a check of several limits without an id, whose status is not asked for.
#[inline]
pub(super) fn is_check_of_several(op: &Op<'_>) -> bool {
    (2..=MAX_SEVERAL).contains(&op.items.len())
        && op.act == Act::Check
        && op.id.is_none()
        && op.statuses.is_none()
}

impl MemoryStore {
    /// Checks several limits whose states are all records, written under the terms of their limits. The items of the
    /// operation are those from `first` on in `locked`. Returns `None` if this needs the general path.
    #[inline(always)]
    pub(super) fn check_several(
        &self,
        op: &Op<'_>,
        first: usize,
        locked: &mut impl Shards,
        now: Time,
    ) -> Option<Decision> {
        let mut after = [AnyRecord::OneWord([0; 2]); MAX_SEVERAL];
        let (mut checked, mut is_denied) = (0_usize, false);
        let status = |(position, item, after): (usize, &Item<'_>, &mut AnyRecord)| {
            let (shard, hash) = locked.shard_to_read(first.wrapping_add(position))?;
            *after = AnyRecord::find(shard, hash.fingerprint_at(position))?;
            let decision = after.check(&SingleCheck::of_item(item), &self.layout, now)?;
            is_denied = !decision.allowed;
            checked = checked.wrapping_add(usize::from(decision.allowed));
            decision.allowed.then(|| decision.only_status())
        };
        let items = op.items.iter().zip(&mut after).enumerate();
        let items = items.map(|(position, (item, after))| (position, item, after));
        let decision = Decision::from_statuses(true, items.map_while(status));
        if is_denied {
            return self.deny_several(op, first, locked, now);
        }
        if checked < op.items.len() {
            return None;
        }
        for (position, record) in after.iter().take(checked).enumerate() {
            let (shard, _) = locked.shard(first.wrapping_add(position))?;
            record.write(shard)?;
        }
        Some(decision)
    }

    /// Returns the decision of a check that at least one of the limits denies: no record is changed.
    #[inline]
    fn deny_several(
        &self,
        op: &Op<'_>,
        first: usize,
        locked: &impl Shards,
        now: Time,
    ) -> Option<Decision> {
        let mut known = 0_usize;
        let status = |(position, item): (usize, &Item<'_>)| {
            let (shard, hash) = locked.shard_to_read(first.wrapping_add(position))?;
            let record = AnyRecord::find(shard, hash.fingerprint_at(position))?;
            let status = record.peek(&SingleCheck::of_item(item), &self.layout, now)?;
            known = known.wrapping_add(1);
            Some(status)
        };
        let decision =
            Decision::from_statuses(false, op.items.iter().enumerate().map_while(status));
        (known == op.items.len()).then_some(decision)
    }
}

impl AnyRecord {
    #[inline(always)]
    fn find(shard: &Shard, fingerprint: u64) -> Option<AnyRecord> {
        match shard.one_word(fingerprint) {
            Some(record) => Some(AnyRecord::OneWord(*record)),
            None => shard.three_words(fingerprint).copied().map(AnyRecord::ThreeWords),
        }
    }

    #[inline(always)]
    fn check(&mut self, check: &SingleCheck<'_>, layout: &Layout, now: Time) -> Option<Decision> {
        match self {
            AnyRecord::OneWord(record) => record.check(check, layout, now),
            AnyRecord::ThreeWords(record) => record.check(check, layout, now),
        }
    }

    #[inline(always)]
    fn peek(&self, check: &SingleCheck<'_>, layout: &Layout, now: Time) -> Option<LimitStatus> {
        match self {
            AnyRecord::OneWord(record) => record.peek(check, layout, now),
            AnyRecord::ThreeWords(record) => record.peek(check, layout, now),
        }
    }

    #[inline(always)]
    fn write(&self, shard: &mut Shard) -> Option<()> {
        match self {
            AnyRecord::OneWord(record) => *shard.one_word_mut(record[0])? = *record,
            AnyRecord::ThreeWords(record) => *shard.three_words_mut(record[0])? = *record,
        }
        Some(())
    }
}
