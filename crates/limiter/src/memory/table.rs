//! A table of records of `W` words under one lock: open addressing, nothing but the records.

use super::hash::place_in;
use super::prefetch::prefetch;

/// At most this many records in every eight places: beyond it, searches become long.
const MAX_IN_EIGHT: usize = 6;
/// The fewest places a table has once it has any.
const FEWEST: usize = 8;

/// One cache line of `N` records.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Line<const W: usize, const N: usize>([[u64; W]; N]);

/// Records, each found by its fingerprint, which is its first word. Zero is a free place. How many there are
/// is counted by the owner, who has a better place for it: a shard must fit in one cache line.
///
/// A fingerprint is as good as random, so its low bits are its home: the first place of a line. A record
/// lies there or in one of the places that follow without a gap, so that nearly every search ends
/// in the line where it began, and waits for memory once.
#[derive(Debug)]
pub(super) struct Table<const W: usize, const N: usize> {
    /// A power of two of them, or none.
    lines: Box<[Line<W, N>]>,
}

impl<const W: usize, const N: usize> Default for Table<W, N> {
    fn default() -> Table<W, N> {
        Table { lines: Box::default() }
    }
}

impl<const W: usize, const N: usize> Table<W, N> {
    /// How many places there are.
    #[inline]
    pub(super) fn places(&self) -> usize {
        self.lines.len().saturating_mul(N)
    }

    #[inline]
    fn at(&self, place: usize) -> Option<&[u64; W]> {
        self.lines.get(place / N)?.0.get(place % N)
    }

    #[inline]
    fn at_mut(&mut self, place: usize) -> Option<&mut [u64; W]> {
        self.lines.get_mut(place / N)?.0.get_mut(place % N)
    }

    #[inline]
    fn home_line(&self, fingerprint: u64) -> usize {
        place_in(self.lines.len(), fingerprint)
    }

    #[inline]
    fn home(&self, fingerprint: u64) -> usize {
        self.home_line(fingerprint).wrapping_mul(N)
    }

    #[inline]
    fn after(&self, place: usize) -> usize {
        place.wrapping_add(1) & self.places().wrapping_sub(1)
    }

    /// Has the processor fetch where the record would be.
    #[inline]
    pub(super) fn prefetch(&self, fingerprint: u64) {
        if let Some(line) = self.lines.get(self.home_line(fingerprint)) {
            prefetch(line, |line| line.0[0][0]);
        }
    }

    /// The record with this fingerprint. Nearly always it is in its home line.
    #[inline(always)]
    pub(super) fn find(&mut self, fingerprint: u64) -> Option<&mut [u64; W]> {
        let home = self.home_line(fingerprint);
        // All of them are looked at: which it is cannot be foreseen, and a wrong guess costs more.
        let mut near = None;
        for (place, record) in self.lines.get(home)?.0.iter().enumerate() {
            if record[0] == fingerprint {
                near = Some(place);
            }
        }
        match near {
            Some(place) => self.lines.get_mut(home)?.0.get_mut(place),
            None => self.find_far(fingerprint),
        }
    }

    /// The record with this fingerprint, which is not in its home line.
    #[cold]
    fn find_far(&mut self, fingerprint: u64) -> Option<&mut [u64; W]> {
        let home = self.lines.get(self.home_line(fingerprint))?;
        if home.0.iter().any(|record| record[0] == 0) {
            return None;
        }
        let place = self.place_of(fingerprint)?;
        self.at_mut(place)
    }

    fn place_of(&self, fingerprint: u64) -> Option<usize> {
        let mut place = self.home(fingerprint);
        loop {
            match self.at(place)?[0] {
                found if found == fingerprint => return Some(place),
                0 => return None,
                _ => place = self.after(place),
            }
        }
    }

    /// Adds a record whose fingerprint is not there yet. `keep` says which of the others are still needed,
    /// should the table have to grow. Answers how many were not.
    pub(super) fn insert(
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
        self.settle(record);
        *used = used.saturating_add(1);
        dropped
    }

    fn is_crowded(&self, used: u32) -> bool {
        used as usize >= self.places() / 8 * MAX_IN_EIGHT
    }

    fn settle(&mut self, record: [u64; W]) {
        let mut place = self.home(record[0]);
        while let Some(there) = self.at_mut(place) {
            if there[0] == 0 {
                *there = record;
                return;
            }
            place = self.after(place);
        }
    }

    /// Lays the records that are still needed out anew, with room for as many again. Answers how many
    /// they are.
    fn rebuild(&mut self, mut keep: impl FnMut(&[u64; W]) -> bool) -> u32 {
        let old = std::mem::take(self);
        let kept: Vec<[u64; W]> = old.iter().filter(|record| keep(record)).copied().collect();
        drop(old);
        let places = kept.len().saturating_mul(2).next_power_of_two().max(FEWEST);
        self.lines = vec![Line([[0; W]; N]); places / N].into();
        kept.iter().for_each(|record| self.settle(*record));
        u32::try_from(kept.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn remove(&mut self, used: &mut u32, fingerprint: u64) -> Option<[u64; W]> {
        let place = self.place_of(fingerprint)?;
        let record = self.at(place).copied();
        self.vacate(used, place);
        record
    }

    /// Frees a place, and moves up what would no longer be found behind the gap.
    fn vacate(&mut self, used: &mut u32, place: usize) {
        let (mut gap, mut next) = (place, self.after(place));
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

    fn put(&mut self, place: usize, record: [u64; W]) {
        if let Some(there) = self.at_mut(place) {
            *there = record;
        }
    }

    /// How many steps it is from one place to another, going round.
    fn distance(&self, from: usize, to: usize) -> usize {
        to.wrapping_sub(from) & self.places().wrapping_sub(1)
    }

    /// Looks at a few places from the home of a fingerprint on, and frees those that are no longer needed.
    /// Answers how many.
    pub(super) fn sweep(
        &mut self,
        used: &mut u32,
        fingerprint: u64,
        few: usize,
        mut keep: impl FnMut(&[u64; W]) -> bool,
    ) -> usize {
        let before = *used;
        let few = few.min(self.places());
        let mut place = self.home(fingerprint);
        let mut looked = 0;
        while looked < few {
            let needed = |record: &[u64; W]| record[0] == 0 || keep(record);
            if self.at(place).is_none_or(needed) {
                place = self.after(place);
                looked = looked.saturating_add(1);
            } else {
                // What moves up into the gap is looked at next.
                self.vacate(used, place);
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

    use super::Table;

    /// What happens to a table. Few fingerprints, and few low bits, so that they crowd.
    #[derive(Debug, Clone)]
    enum Step {
        Insert(u64, u64),
        Remove(u64),
        Sweep(u64, usize, u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        let fingerprint = || (1_u64..40, 0_u64..3).prop_map(|(low, high)| high << 32 | low);
        prop_oneof![
            5 => (fingerprint(), 0_u64..100).prop_map(|(fingerprint, value)| Step::Insert(fingerprint, value)),
            3 => fingerprint().prop_map(Step::Remove),
            1 => (fingerprint(), 0_usize..200, 0_u64..100)
                .prop_map(|(fingerprint, few, least)| Step::Sweep(fingerprint, few, least)),
        ]
    }

    fn hold<const W: usize, const N: usize>(steps: &[Step]) -> Result<(), TestCaseError> {
        let (mut table, mut used, mut model) = (Table::<W, N>::default(), 0, BTreeMap::new());
        let record = |fingerprint: u64, value: u64| {
            let mut record = [value; W];
            record[0] = fingerprint;
            record
        };
        for step in steps {
            match step {
                Step::Insert(fingerprint, value) => {
                    table.remove(&mut used, *fingerprint);
                    table.insert(&mut used, record(*fingerprint, *value), |_| true);
                    model.insert(*fingerprint, *value);
                }
                Step::Remove(fingerprint) => {
                    let removed = table.remove(&mut used, *fingerprint);
                    prop_assert_eq!(removed.map(|record| record[W - 1]), model.remove(fingerprint));
                }
                Step::Sweep(fingerprint, few, least) => {
                    let before = used as usize;
                    let keep = |record: &[u64; W]| record[W - 1] >= *least;
                    let swept = table.sweep(&mut used, *fingerprint, *few, keep);
                    model.retain(|fingerprint, _| table.find(*fingerprint).is_some());
                    prop_assert_eq!(before - swept, model.len());
                    let all = table.places();
                    table.sweep(&mut used, *fingerprint, all, keep);
                    model.retain(|_, value| *value >= *least);
                }
            }
            prop_assert_eq!(used as usize, model.len());
            prop_assert_eq!(table.iter().count(), model.len());
            for (fingerprint, value) in &model {
                prop_assert_eq!(table.find(*fingerprint), Some(&mut record(*fingerprint, *value)));
            }
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), ..Default::default() })]

        #[test]
        fn a_table_is_a_map(steps in prop::collection::vec(step(), 1..200)) {
            hold::<2, 4>(&steps)?;
            hold::<4, 2>(&steps)?;
        }

        #[test]
        fn what_is_not_needed_goes_when_a_table_grows(values in prop::collection::vec(0_u64..10, 1..300)) {
            let mut table = Table::<2, 4>::default();
            let (mut used, mut dropped) = (0, 0);
            for (fingerprint, value) in (1..).zip(&values) {
                dropped += table.insert(&mut used, [fingerprint, *value], |record| record[1] >= 5);
            }
            prop_assert_eq!(used as usize + dropped, values.len());
            let needed = values.iter().filter(|value| **value >= 5).count();
            prop_assert_eq!(table.iter().filter(|record| record[1] >= 5).count(), needed);
            prop_assert!(table.places() <= (4 * needed).next_power_of_two().max(16));
        }
    }
}
