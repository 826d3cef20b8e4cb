//! Where the records of a segment are.

use super::record::IdKey;
use crate::memory::table::hash_table::HashTable;

/// The slots of records by their keys.
///
/// An entry is one word: half of it is of the key, the other half is the slot. So a search, and a table that grows, look
/// at no records but those that they find.
#[derive(Default)]
pub(super) struct Index {
    entries: HashTable<1, 8>,
    len: u32,
}

/// Number of low bits of an entry that are of the key.
const KEY_BITS: u32 = 32;

#[inline]
fn entry(key: IdKey, slot: u32) -> u64 {
    u64::from(slot) << KEY_BITS | u64::from(key.place())
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the two halves")]
fn split(entry: u64) -> (u32, u32) {
    (entry as u32, (entry >> KEY_BITS) as u32)
}

impl Index {
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the slot of a key for which `is_it` holds.
    #[inline]
    pub(super) fn find(&self, key: IdKey, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let place = key.place();
        let is_entry = |entry: &[u64; 1]| {
            let (other, slot) = split(entry[0]);
            other == place && is_it(slot)
        };
        Some(split(self.entries.find_where(place.into(), is_entry)?[0]).1)
    }

    #[inline]
    pub(super) fn prefetch(&self, key: IdKey) {
        self.entries.prefetch(key.place().into());
    }

    #[inline]
    pub(super) fn insert(&mut self, key: IdKey, slot: u32) {
        self.entries.insert(&mut self.len, [entry(key, slot)], |_| true);
    }

    #[inline]
    pub(super) fn remove(&mut self, key: IdKey, slot: u32) {
        self.entries.remove(&mut self.len, entry(key, slot));
    }

    pub(super) fn bytes(&self) -> usize {
        self.entries.bytes()
    }
}
