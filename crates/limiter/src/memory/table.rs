//! A table of records of `W` words under one lock: open addressing, nothing but the records.

use super::hash::place_in;

/// At most this many records in every eight places: beyond it, searches become long.
const MOST_IN_EIGHT: usize = 6;
/// The fewest places a table has once it has any.
const FEWEST: usize = 8;

/// Records, each found by its mark, which is its first word. Zero is a free place.
///
/// A mark is as good as random, so its low bits are its home; a record lies there or in one of the
/// places that follow without a gap.
#[derive(Debug)]
pub(super) struct Table<const W: usize> {
    places: Box<[[u64; W]]>,
    used: usize,
    /// Where the sweep goes on.
    cursor: usize,
}

impl<const W: usize> Default for Table<W> {
    fn default() -> Table<W> {
        Table { places: Box::default(), used: 0, cursor: 0 }
    }
}

impl<const W: usize> Table<W> {
    pub(super) fn len(&self) -> usize {
        self.used
    }

    #[inline]
    fn home(&self, mark: u64) -> usize {
        place_in(self.places.len(), mark)
    }

    #[inline]
    fn after(&self, place: usize) -> usize {
        place.wrapping_add(1) & self.places.len().wrapping_sub(1)
    }

    /// Reads where the record would be, so that it is near when it is wanted.
    #[inline]
    pub(super) fn touch(&self, mark: u64) -> u64 {
        self.places.get(self.home(mark)).map_or(0, |record| record[0])
    }

    /// The record with this mark.
    #[inline]
    pub(super) fn find(&mut self, mark: u64) -> Option<&mut [u64; W]> {
        let place = self.place_of(mark)?;
        self.places.get_mut(place)
    }

    #[inline]
    fn place_of(&self, mark: u64) -> Option<usize> {
        let mut place = self.home(mark);
        loop {
            match self.places.get(place)?[0] {
                found if found == mark => return Some(place),
                0 => return None,
                _ => place = self.after(place),
            }
        }
    }

    /// Adds a record whose mark is not there yet. `keep` says which of the others are still needed,
    /// should the table have to grow.
    pub(super) fn insert(
        &mut self,
        record: [u64; W],
        keep: impl FnMut(&[u64; W]) -> bool,
    ) -> usize {
        let dropped = if self.is_crowded() { self.rebuild(keep) } else { 0 };
        self.settle(record);
        dropped
    }

    fn is_crowded(&self) -> bool {
        self.used.saturating_add(1) > self.places.len() / 8 * MOST_IN_EIGHT
    }

    fn settle(&mut self, record: [u64; W]) {
        let mut place = self.home(record[0]);
        while let Some(there) = self.places.get_mut(place) {
            if there[0] == 0 {
                *there = record;
                self.used = self.used.saturating_add(1);
                return;
            }
            place = self.after(place);
        }
    }

    /// Lays the records that are still needed out anew, with room for as many again.
    fn rebuild(&mut self, mut keep: impl FnMut(&[u64; W]) -> bool) -> usize {
        let before = self.used;
        let old = std::mem::take(&mut self.places);
        let mut kept: Vec<[u64; W]> = old.into_vec();
        kept.retain(|record| record[0] != 0 && keep(record));
        let places = kept.len().saturating_mul(2).next_power_of_two().max(FEWEST);
        (self.places, self.used, self.cursor) = (vec![[0; W]; places].into(), 0, 0);
        let left = kept.len();
        kept.into_iter().for_each(|record| self.settle(record));
        before.saturating_sub(left)
    }

    pub(super) fn remove(&mut self, mark: u64) -> Option<[u64; W]> {
        let place = self.place_of(mark)?;
        let record = self.places.get(place).copied();
        self.vacate(place);
        record
    }

    /// Frees a place, and moves up what would no longer be found behind the gap.
    fn vacate(&mut self, place: usize) {
        let (mut gap, mut next) = (place, self.after(place));
        while let Some(record) = self.places.get(next).copied().filter(|record| record[0] != 0) {
            let from_home = self.distance(self.home(record[0]), next);
            if from_home >= self.distance(gap, next) {
                self.put(gap, record);
                gap = next;
            }
            next = self.after(next);
        }
        self.put(gap, [0; W]);
        self.used = self.used.saturating_sub(1);
    }

    fn put(&mut self, place: usize, record: [u64; W]) {
        if let Some(there) = self.places.get_mut(place) {
            *there = record;
        }
    }

    /// How many steps it is from one place to another, going round.
    fn distance(&self, from: usize, to: usize) -> usize {
        to.wrapping_sub(from) & self.places.len().wrapping_sub(1)
    }

    /// Looks at the next few places and frees those that are no longer needed. Answers how many.
    pub(super) fn sweep(&mut self, few: usize, mut keep: impl FnMut(&[u64; W]) -> bool) -> usize {
        let before = self.used;
        for _ in 0..few.min(self.places.len()) {
            let needed = |record: &[u64; W]| record[0] == 0 || keep(record);
            if self.places.get(self.cursor).is_none_or(needed) {
                self.cursor = self.after(self.cursor);
            } else {
                self.vacate(self.cursor);
            }
        }
        before.saturating_sub(self.used)
    }

    /// How many places there are.
    pub(super) fn places(&self) -> usize {
        self.places.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u64; W]> {
        self.places.iter().filter(|record| record[0] != 0)
    }
}
