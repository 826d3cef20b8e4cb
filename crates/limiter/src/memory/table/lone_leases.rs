//! Keys with one lease and nothing else, as most that hold any: each is a record.

use tollgate_core::Time;
use tollgate_core::storage::State;

use super::hash_table::{HashTable, Place};
use super::layout::Layout;
use super::record::{LeaseRecord, replace_lease, split_lease};
use super::shard::Shard;

/// Number of records that fill whole cache lines together.
const RECORDS_PER_LINE: usize = 8;

/// The lone leases of a shard.
#[derive(Default)]
pub(super) struct LoneLeases {
    table: HashTable<5, RECORDS_PER_LINE>,
    len: u32,
}

/// A copy of the record of a lone lease, and its place in a shard that stays locked.
#[derive(Clone, Copy)]
pub(crate) struct FoundLease {
    place: Place,
    pub(crate) record: LeaseRecord,
}

/// The words of a lease that was given back, which ended at the epoch. Its record stays until a sweep finds it: a key
/// that has held a lease mostly takes another one.
const GIVEN_BACK: [u64; 4] = [0; 4];

/// Returns the state that a record stands for.
pub(crate) fn state_of_lease(record: LeaseRecord) -> State {
    State::of_lone_lease(split_lease(record).1)
}

/// Returns whether a lease was given back. One that has ended was not: it counts again if the clock steps back.
pub(crate) fn was_given_back(record: LeaseRecord) -> bool {
    split_lease(record).1 == GIVEN_BACK
}

impl LoneLeases {
    pub(super) fn find(&self, fingerprint: u64) -> Option<LeaseRecord> {
        self.table.find(fingerprint).copied()
    }

    /// Inserts a record whose fingerprint is not present yet. Returns the number of others that were dropped meanwhile
    /// because they had ended.
    pub(super) fn insert(&mut self, layout: &Layout, record: LeaseRecord, horizon: Time) -> usize {
        self.table.insert(&mut self.len, record, layout.keep_lease(horizon))
    }

    #[inline]
    fn find_place(&self, fingerprint: u64) -> Option<FoundLease> {
        let place = self.table.place_of(fingerprint)?;
        Some(FoundLease { place, record: *self.table.record_at(place)? })
    }

    /// Writes another lease in the place of one.
    #[inline]
    fn replace(&mut self, found: FoundLease, lease: [u64; 4]) {
        if let Some(record) = self.table.record_at_mut(found.place) {
            *record = replace_lease(found.record, lease);
        }
    }

    pub(super) fn remove(&mut self, fingerprint: u64) -> Option<LeaseRecord> {
        self.table.remove(&mut self.len, fingerprint)
    }

    /// Drops what has ended in so many slots from the home of a fingerprint on. Returns how many.
    pub(super) fn sweep(
        &mut self,
        layout: &Layout,
        fingerprint: u64,
        slots: usize,
        horizon: Time,
    ) -> usize {
        self.table.sweep(&mut self.len, fingerprint, slots, layout.keep_lease(horizon))
    }

    /// Gives memory back if there is far too much.
    pub(super) fn shrink(&mut self) {
        self.table.shrink(&mut self.len);
    }

    pub(super) fn slots(&self) -> usize {
        self.table.slots()
    }

    pub(super) fn bytes(&self) -> usize {
        self.table.bytes()
    }

    /// Returns how many bytes more they take with so many more.
    pub(super) fn max_growth(&self, more: u32) -> usize {
        self.table.max_growth(self.len, more)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &LeaseRecord> {
        self.table.iter()
    }
}

impl Shard {
    #[inline]
    pub(crate) fn lone_lease(&self, fingerprint: u64) -> Option<FoundLease> {
        self.long.as_ref()?.lone.find_place(fingerprint)
    }

    /// Writes what has become of a lone lease that still is one.
    #[inline]
    pub(crate) fn replace_lone_lease(&mut self, found: FoundLease, lease: [u64; 4]) {
        if let Some(long) = &mut self.long {
            long.lone.replace(found, lease);
        }
    }

    /// Gives a lone lease back.
    #[inline]
    pub(crate) fn end_lone_lease(&mut self, found: FoundLease) {
        self.replace_lone_lease(found, GIVEN_BACK);
    }

    pub(crate) fn remove_lone_lease(&mut self, fingerprint: u64) {
        if let Some(long) = &mut self.long {
            long.lone.remove(fingerprint);
        }
    }
}
