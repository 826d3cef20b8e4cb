//! Which terms have which index, and which indices are free.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use tollgate_core::storage::Terms;

use super::super::quota::Quota;
use super::super::record::fits_one_word;
use super::marks::Marks;
use super::place::{PLACES, Place, Places};

/// The indices, in the order in which they are given out. Index zero is not used.
///
/// Clients may bring any number of limits with their operations. Those that a program or its configuration names
/// have every second range for themselves: the first of them where a state of one word stays one, as far as that
/// goes.
const INDICES: [Range<u32>; 4] = [1..128, 128..ONE_WORD_END, ONE_WORD_END..3_072, 3_072..PLACES];
/// The end of the indices that fit above a state of one word.
const ONE_WORD_END: u32 = 256;
const _: () = assert!(fits_one_word(ONE_WORD_END - 1) && !fits_one_word(ONE_WORD_END));

/// What an index is found by: the words of the terms, and the address of the quota, which is never freed.
pub(super) type PlaceKey = ([u64; 4], usize);

pub(super) fn place_key(words: [u64; 4], quota: Option<&Arc<Quota>>) -> PlaceKey {
    (words, quota.map_or(0, |quota| Arc::as_ptr(quota).addr()))
}

/// The index of all terms in the list, and the free indices.
pub(super) struct Indices {
    of: HashMap<PlaceKey, u32>,
    free: [Free; INDICES.len()],
    /// How many limiters, or other programs, keep an index.
    pins: HashMap<u32, usize>,
}

/// The free indices of a range.
struct Free {
    /// Those that were never used.
    fresh: Range<u32>,
    /// Those that were used and are not any more.
    freed: Vec<u32>,
}

impl Free {
    fn next(&self) -> Option<u32> {
        self.freed.last().copied().or_else(|| self.fresh.clone().next())
    }

    fn take_next(&mut self) -> Option<u32> {
        self.freed.pop().or_else(|| self.fresh.next())
    }
}

/// Returns how to step through the ranges: a limit that is not named leaves out every second.
fn step(is_named: bool) -> usize {
    if is_named { 1 } else { 2 }
}

impl Indices {
    pub(super) fn new() -> Indices {
        let free = INDICES.map(|fresh| Free { fresh, freed: Vec::new() });
        Indices { of: HashMap::new(), free, pins: HashMap::new() }
    }

    /// Returns the index of these terms, unless the next one is better.
    pub(super) fn find(&self, key: &PlaceKey, is_named: bool) -> Option<u32> {
        let index = self.of.get(key).copied()?;
        let is_better = |next| fits_one_word(next) && !fits_one_word(index);
        (!self.next(is_named).is_some_and(is_better)).then_some(index)
    }

    /// Returns the next free index for such a limit.
    pub(super) fn next(&self, is_named: bool) -> Option<u32> {
        self.free.iter().step_by(step(is_named)).find_map(Free::next)
    }

    /// Finds the index of these terms, or adds them if they are new, or have a worse index than the next.
    pub(super) fn find_or_add(
        &mut self,
        places: &Places,
        terms: &Terms,
        quota: Option<&Arc<Quota>>,
        is_named: bool,
    ) -> Option<u32> {
        let key = place_key(terms.to_words(), quota);
        if let Some(index) = self.find(&key, is_named) {
            return Some(index);
        }
        let index = self.free.iter_mut().step_by(step(is_named)).find_map(Free::take_next)?;
        places.get_or_allocate(index)?.open(terms, quota.cloned());
        self.of.insert(key, index);
        Some(index)
    }

    pub(super) fn pin(&mut self, index: u32) {
        let pins = self.pins.entry(index).or_default();
        *pins = pins.saturating_add(1);
    }

    pub(super) fn unpin(&mut self, index: u32) {
        let Some(pins) = self.pins.get_mut(&index) else { return };
        *pins = pins.saturating_sub(1);
        if *pins == 0 {
            self.pins.remove(&index);
        }
    }

    /// After all shards have marked the indices of their records: closes what is not in use, and frees what was closed
    /// a round ago and is still not used. Returns whether anything changed.
    ///
    /// Why two rounds: a thread that has just found the index of a place that is closed meanwhile, and is about to
    /// write a record with it, has locked the shard of that record. The next round waits for it there.
    pub(super) fn finish_round(&mut self, places: &Places, marks: &Marks) -> bool {
        let mut has_changed = false;
        for (index, place) in places.used() {
            let is_kept = marks.has(index) || self.pins.contains_key(&index);
            match (is_kept, place.is_closed()) {
                (true, true) => self.reopen(index, place),
                (true, false) => {}
                (false, is_closed) => {
                    has_changed = true;
                    if is_closed { self.free(index, place) } else { self.close(index, place) }
                }
            }
        }
        has_changed
    }

    fn close(&mut self, index: u32, place: &Place) {
        let key = place_key(place.words(), place.quota().as_ref());
        if self.of.get(&key) == Some(&index) {
            self.of.remove(&key);
        }
        place.set_closed(true);
    }

    /// Opens a closed place again, unless its terms have got another one: then it stays as it is for the records that
    /// have its index.
    fn reopen(&mut self, index: u32, place: &Place) {
        let key = place_key(place.words(), place.quota().as_ref());
        if *self.of.entry(key).or_insert(index) == index {
            place.set_closed(false);
        }
    }

    fn free(&mut self, index: u32, place: &Place) {
        place.free();
        let range = INDICES.iter().position(|range| range.contains(&index));
        if let Some(free) = range.and_then(|range| self.free.get_mut(range)) {
            free.freed.push(index);
        }
    }
}
