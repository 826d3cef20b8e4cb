//! A hash table of records with `W` words each: open addressing, without any metadata.

use super::prefetch::prefetch;
use crate::hash::index_in;

/// Maximum number of records per eight slots: beyond it, searches become long.
const MAX_IN_EIGHT: usize = 6;
/// Minimum number of slots of a table that has any.
const MIN_SLOTS: usize = 8;
/// A table with more slots than this times its records is far too large.
const MAX_SLOTS_PER_RECORD: usize = 8;

/// One cache line of `N` records.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Line<const W: usize, const N: usize>([[u64; W]; N]);

/// Records that are found by their fingerprint, which is their first word. Zero marks a free slot.
/// The owner keeps the number of records: a shard must fit in one cache line, which leaves no
/// space for a field here.
///
/// A fingerprint is as good as random, so its low bits select its home: the first slot of a line. A
/// record is there or in one of the slots that follow without a gap, so nearly every search ends in
/// the line where it began, and waits for memory once.
#[derive(Debug)]
pub(crate) struct HashTable<const W: usize, const N: usize> {
    /// The number of lines is zero or a power of two.
    lines: Box<[Line<W, N>]>,
}

/// Where a record is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    line: usize,
    /// Its index in the line.
    index: usize,
}

impl Place {
    /// The first place of a table.
    pub(super) const FIRST: Place = Place { line: 0, index: 0 };
}

impl<const W: usize, const N: usize> Default for HashTable<W, N> {
    fn default() -> HashTable<W, N> {
        HashTable { lines: Box::default() }
    }
}

impl<const W: usize, const N: usize> HashTable<W, N> {
    /// Returns the number of slots.
    #[inline]
    pub(super) fn slots(&self) -> usize {
        self.lines.len().saturating_mul(N)
    }

    /// Returns the memory it takes.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        size_of_val::<[_]>(&self.lines)
    }

    /// Returns how many bytes more it takes with so many more records.
    #[inline]
    pub(super) fn max_growth(&self, used: u32, more: u32) -> usize {
        let before_the_last = used.saturating_add(more).saturating_sub(1);
        if self.is_crowded(before_the_last) { self.bytes().max(MIN_SLOTS * W * 8) } else { 0 }
    }

    #[inline]
    fn at(&self, slot: usize) -> Option<&[u64; W]> {
        self.lines.get(slot / N)?.0.get(slot % N)
    }

    #[inline]
    fn at_mut(&mut self, slot: usize) -> Option<&mut [u64; W]> {
        self.lines.get_mut(slot / N)?.0.get_mut(slot % N)
    }

    #[inline]
    fn home_line(&self, fingerprint: u64) -> usize {
        index_in(self.lines.len(), fingerprint)
    }

    #[inline]
    fn home(&self, fingerprint: u64) -> usize {
        self.home_line(fingerprint).wrapping_mul(N)
    }

    #[inline]
    fn after(&self, slot: usize) -> usize {
        slot.wrapping_add(1) & self.slots().wrapping_sub(1)
    }

    /// Prefetches the home of a fingerprint.
    #[inline]
    pub(crate) fn prefetch(&self, fingerprint: u64) {
        if let Some(line) = self.lines.get(self.home_line(fingerprint)) {
            prefetch(line, |line| line.0[0][0]);
        }
    }

    /// Finds the record with this fingerprint.
    #[inline(always)]
    pub(super) fn find(&self, fingerprint: u64) -> Option<&[u64; W]> {
        self.record_at(self.place_of(fingerprint)?)
    }

    /// Finds the record with this fingerprint, to change it.
    #[inline(always)]
    pub(super) fn find_mut(&mut self, fingerprint: u64) -> Option<&mut [u64; W]> {
        self.record_at_mut(self.place_of(fingerprint)?)
    }

    /// Returns the record at a place, which holds until the table changes.
    #[inline(always)]
    pub(super) fn record_at(&self, place: Place) -> Option<&[u64; W]> {
        self.lines.get(place.line)?.0.get(place.index)
    }

    /// Returns the record at a place, to change it.
    #[inline(always)]
    pub(super) fn record_at_mut(&mut self, place: Place) -> Option<&mut [u64; W]> {
        self.lines.get_mut(place.line)?.0.get_mut(place.index)
    }

    /// Finds the place of a record. Nearly always it is in its home line.
    #[inline(always)]
    pub(super) fn place_of(&self, fingerprint: u64) -> Option<Place> {
        let home = self.home_line(fingerprint);
        // Compares all of them: an early exit is unpredictable, and a mispredicted branch costs more.
        let mut found = None;
        for (index, record) in self.lines.get(home)?.0.iter().enumerate() {
            if record[0] == fingerprint {
                found = Some(index);
            }
        }
        match found {
            Some(index) => Some(Place { line: home, index }),
            None => self.place_outside_home(fingerprint),
        }
    }

    /// Finds the place of a record that is not in its home line.
    #[cold]
    fn place_outside_home(&self, fingerprint: u64) -> Option<Place> {
        let home = self.lines.get(self.home_line(fingerprint))?;
        if home.0.iter().any(|record| record[0] == 0) {
            return None;
        }
        let slot = self.slot_of(fingerprint)?;
        Some(Place { line: slot / N, index: slot % N })
    }

    fn slot_of(&self, fingerprint: u64) -> Option<usize> {
        self.slot_where(fingerprint, |record| record[0] == fingerprint)
    }

    /// Finds the record for which `is_it` holds among those with the home of this fingerprint.
    #[inline]
    pub(crate) fn find_where(
        &self,
        fingerprint: u64,
        is_it: impl Fn(&[u64; W]) -> bool,
    ) -> Option<&[u64; W]> {
        self.at(self.slot_where(fingerprint, is_it)?)
    }

    #[inline]
    fn slot_where(&self, fingerprint: u64, is_it: impl Fn(&[u64; W]) -> bool) -> Option<usize> {
        let home = self.home_line(fingerprint);
        for (index, record) in self.lines.get(home)?.0.iter().enumerate() {
            if record[0] == 0 {
                return None;
            }
            if is_it(record) {
                return Some(home.wrapping_mul(N).wrapping_add(index));
            }
        }
        self.slot_outside_home(fingerprint, is_it)
    }

    #[cold]
    fn slot_outside_home(
        &self,
        fingerprint: u64,
        is_it: impl Fn(&[u64; W]) -> bool,
    ) -> Option<usize> {
        let mut slot = self.home(fingerprint).wrapping_add(N) & self.slots().wrapping_sub(1);
        loop {
            match self.at(slot)? {
                free if free[0] == 0 => return None,
                found if is_it(found) => return Some(slot),
                _ => slot = self.after(slot),
            }
        }
    }

    /// Inserts a record whose fingerprint is not present yet. If the table has to grow, it drops the
    /// records that `keep` rejects. Returns how many were dropped.
    pub(crate) fn insert(
        &mut self,
        used: &mut u32,
        record: [u64; W],
        keep: impl FnMut(&[u64; W]) -> bool,
    ) -> usize {
        let before = *used;
        if self.is_crowded(before) {
            *used = self.rebuild(keep);
        }
        let dropped = before.saturating_sub(*used) as usize;
        self.write_to_free_slot(record);
        *used = used.saturating_add(1);
        dropped
    }

    fn is_crowded(&self, used: u32) -> bool {
        used as usize >= self.slots() / 8 * MAX_IN_EIGHT
    }

    /// Gives memory back if the table is far too large for its records.
    pub(super) fn shrink(&mut self, used: &mut u32) {
        if *used == 0 {
            *self = HashTable::default();
        } else if self.slots()
            > (*used as usize).saturating_mul(MAX_SLOTS_PER_RECORD).max(MIN_SLOTS)
        {
            *used = self.rebuild(|_| true);
        }
    }

    #[inline]
    fn write_to_free_slot(&mut self, record: [u64; W]) {
        let home = self.home_line(record[0]);
        let Some(line) = self.lines.get_mut(home) else { return };
        match line.0.iter_mut().find(|current| current[0] == 0) {
            Some(free) => *free = record,
            None => self.write_outside_home(record),
        }
    }

    #[cold]
    fn write_outside_home(&mut self, record: [u64; W]) {
        let mut slot = self.home(record[0]);
        while let Some(current) = self.at_mut(slot) {
            if current[0] == 0 {
                *current = record;
                return;
            }
            slot = self.after(slot);
        }
    }

    /// Rebuilds the table from the records to keep, with room for as many again. Returns their number.
    ///
    /// Straight from one to the other: a list between them would be as large, and is written and read once more.
    fn rebuild(&mut self, mut keep: impl FnMut(&[u64; W]) -> bool) -> u32 {
        let mut kept: usize = 0;
        for record in self.lines.iter_mut().flat_map(|line| &mut line.0) {
            if record[0] != 0 && !keep(record) {
                *record = [0; W];
            }
            kept = kept.saturating_add(usize::from(record[0] != 0));
        }
        let slots = kept.saturating_mul(2).next_power_of_two().max(MIN_SLOTS);
        let new = vec![Line([[0; W]; N]); slots / N].into();
        let old = std::mem::replace(&mut self.lines, new);
        for line in &old {
            for record in line.0.iter().filter(|record| record[0] != 0) {
                self.write_to_free_slot(*record);
            }
        }
        u32::try_from(kept).unwrap_or(u32::MAX)
    }

    pub(crate) fn remove(&mut self, used: &mut u32, fingerprint: u64) -> Option<[u64; W]> {
        let slot = self.slot_of(fingerprint)?;
        let record = self.at(slot).copied();
        self.free(used, slot);
        record
    }

    /// Frees a slot, and moves up the records that would not be found behind the gap.
    fn free(&mut self, used: &mut u32, slot: usize) {
        let (mut gap, mut next) = (slot, self.after(slot));
        while let Some(record) = self.at(next).copied().filter(|record| record[0] != 0) {
            let from_home = self.distance(self.home(record[0]), next);
            if from_home >= self.distance(gap, next) {
                self.put(gap, record);
                gap = next;
            }
            next = self.after(next);
        }
        self.put(gap, [0; W]);
        *used = used.saturating_sub(1);
    }

    fn put(&mut self, slot: usize, record: [u64; W]) {
        if let Some(current) = self.at_mut(slot) {
            *current = record;
        }
    }

    /// Returns the number of slots from one slot forward to another, wrapping around.
    fn distance(&self, from: usize, to: usize) -> usize {
        to.wrapping_sub(from) & self.slots().wrapping_sub(1)
    }

    /// Visits `slots` slots from the home of a fingerprint on, and frees those whose record `keep`
    /// rejects. Returns how many were freed.
    pub(super) fn sweep(
        &mut self,
        used: &mut u32,
        fingerprint: u64,
        slots: usize,
        mut keep: impl FnMut(&[u64; W]) -> bool,
    ) -> usize {
        let before = *used;
        let slots = slots.min(self.slots());
        let mut slot = self.home(fingerprint);
        let mut visited = 0;
        while visited < slots {
            let stays = |record: &[u64; W]| record[0] == 0 || keep(record);
            if self.at(slot).is_none_or(stays) {
                slot = self.after(slot);
                visited = visited.saturating_add(1);
            } else {
                // The record that moves up into the gap is visited next.
                self.free(used, slot);
            }
        }
        before.saturating_sub(*used) as usize
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u64; W]> {
        self.lines.iter().flat_map(|line| &line.0).filter(|record| record[0] != 0)
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, reason = "a test")]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::{HashTable, MAX_SLOTS_PER_RECORD, MIN_SLOTS};

    /// An operation on a table. There are few fingerprints with few low bits, so that they collide.
    #[derive(Debug, Clone)]
    enum TableOp {
        Insert(u64, u64),
        Remove(u64),
        Shrink,
        Sweep(u64, usize, u64),
    }

    fn table_op() -> impl Strategy<Value = TableOp> {
        let fingerprint = || (1_u64..40, 0_u64..3).prop_map(|(low, high)| high << 32 | low);
        prop_oneof![
            5 => (fingerprint(), 0_u64..100).prop_map(|(fingerprint, value)| TableOp::Insert(fingerprint, value)),
            3 => fingerprint().prop_map(TableOp::Remove),
            1 => Just(TableOp::Shrink),
            1 => (fingerprint(), 0_usize..200, 0_u64..100)
                .prop_map(|(fingerprint, slots, least)| TableOp::Sweep(fingerprint, slots, least)),
        ]
    }

    fn matches_map<const W: usize, const N: usize>(ops: &[TableOp]) -> Result<(), TestCaseError> {
        let (mut table, mut used, mut model) = (HashTable::<W, N>::default(), 0, BTreeMap::new());
        let record = |fingerprint: u64, value: u64| {
            let mut record = [value; W];
            record[0] = fingerprint;
            record
        };
        for op in ops {
            match op {
                TableOp::Insert(fingerprint, value) => {
                    table.remove(&mut used, *fingerprint);
                    let most = table.bytes() + table.max_growth(used, 1).max(MIN_SLOTS * W * 8);
                    table.insert(&mut used, record(*fingerprint, *value), |_| true);
                    prop_assert!(table.bytes() <= most);
                    model.insert(*fingerprint, *value);
                }
                TableOp::Shrink => {
                    table.shrink(&mut used);
                    let most = (model.len() * MAX_SLOTS_PER_RECORD).max(MIN_SLOTS);
                    prop_assert!(table.slots() <= most);
                    prop_assert!(!model.is_empty() || table.bytes() == 0);
                }
                TableOp::Remove(fingerprint) => {
                    let removed = table.remove(&mut used, *fingerprint);
                    prop_assert_eq!(removed.map(|record| record[W - 1]), model.remove(fingerprint));
                }
                TableOp::Sweep(fingerprint, slots, least) => {
                    let before = used as usize;
                    let keep = |record: &[u64; W]| record[W - 1] >= *least;
                    let swept = table.sweep(&mut used, *fingerprint, *slots, keep);
                    model.retain(|fingerprint, _| table.find(*fingerprint).is_some());
                    prop_assert_eq!(before - swept, model.len());
                    let all = table.slots();
                    table.sweep(&mut used, *fingerprint, all, keep);
                    model.retain(|_, value| *value >= *least);
                }
            }
            prop_assert_eq!(used as usize, model.len());
            prop_assert_eq!(table.iter().count(), model.len());
            for (fingerprint, value) in &model {
                let mut record = record(*fingerprint, *value);
                prop_assert_eq!(table.find(*fingerprint), Some(&record));
                prop_assert_eq!(table.find_mut(*fingerprint), Some(&mut record));
            }
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), ..Default::default() })]

        #[test]
        fn a_table_behaves_as_a_map(ops in prop::collection::vec(table_op(), 1..200)) {
            matches_map::<2, 4>(&ops)?;
            matches_map::<4, 2>(&ops)?;
            matches_map::<5, 8>(&ops)?;
        }

        #[test]
        fn a_growing_table_drops_records_that_are_not_kept(values in prop::collection::vec(0_u64..10, 1..300)) {
            let mut table = HashTable::<2, 4>::default();
            let (mut used, mut dropped) = (0, 0);
            for (fingerprint, value) in (1..).zip(&values) {
                dropped += table.insert(&mut used, [fingerprint, *value], |record| record[1] >= 5);
            }
            prop_assert_eq!(used as usize + dropped, values.len());
            let kept = values.iter().filter(|value| **value >= 5).count();
            prop_assert_eq!(table.iter().filter(|record| record[1] >= 5).count(), kept);
            prop_assert!(table.slots() <= (4 * kept).next_power_of_two().max(16));
        }
    }
}
