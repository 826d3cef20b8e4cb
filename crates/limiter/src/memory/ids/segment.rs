//! Some of the records, under one lock.

use hashbrown::HashTable;
use tollgate_core::Time;
use tollgate_core::storage::walk;

use super::record::{IdKey, Record, Slot};

/// Number of slots that are allocated together. Records are never moved.
const CHUNK: usize = 16;
/// The index of no slot.
const NONE: u32 = u32::MAX;

/// Records by their keys, with a cursor that goes round and finds those that have expired.
pub(super) struct Segment {
    /// The slots of the records.
    index: HashTable<u32>,
    #[expect(clippy::vec_box, reason = "a list that grows moves no records")]
    chunks: Vec<Box<[Slot; CHUNK]>>,
    /// The first free slot.
    free: u32,
    /// The slot that is looked at next.
    cursor: u32,
}

impl Default for Segment {
    fn default() -> Segment {
        Segment { index: HashTable::new(), chunks: Vec::new(), free: NONE, cursor: 0 }
    }
}

impl Segment {
    pub(super) fn find(&self, key: IdKey) -> Option<&Record> {
        let slot = self.index.find(key.place(), |slot| self.has_key(*slot, key))?;
        self.record(*slot)
    }

    /// Inserts a record whose key is not present.
    pub(super) fn insert(&mut self, record: Record) {
        let slot = self.take_free_slot();
        if let Some(free) = slot_mut(&mut self.chunks, slot) {
            *free = Slot::Used(record);
        }
        let chunks = &self.chunks;
        let place = |slot: &u32| match slot_of(chunks, *slot) {
            Some(Slot::Used(record)) => record.key.place(),
            _ => 0,
        };
        self.index.insert_unique(record.key.place(), slot, place);
    }

    /// Removes a record.
    pub(super) fn remove(&mut self, key: IdKey) -> Option<Record> {
        self.remove_where(key, |other| other == key)
    }

    /// Removes one of the records of an id.
    pub(super) fn remove_any_of(&mut self, id: IdKey) -> Option<Record> {
        self.remove_where(id, |other| other.is_of_same_id(id))
    }

    fn remove_where(&mut self, id: IdKey, matches: impl Fn(IdKey) -> bool) -> Option<Record> {
        let chunks = &self.chunks;
        let is_it = |slot: &u32| match slot_of(chunks, *slot) {
            Some(Slot::Used(record)) => matches(record.key),
            _ => false,
        };
        let (slot, _) = self.index.find_entry(id.place(), is_it).ok()?.remove();
        self.free(slot)
    }

    /// Looks at some slots, and removes the records that have expired at `horizon`. Passes each of them to
    /// `removed`.
    pub(super) fn sweep(&mut self, slots: usize, horizon: Time, mut removed: impl FnMut(Record)) {
        walk(slots.min(self.slots()));
        for _ in 0..slots.min(self.slots()) {
            if let Some(Slot::Used(Record { key, expires, .. })) =
                slot_of(&self.chunks, self.cursor)
                && *expires <= horizon
                && let Some(record) = self.remove(*key)
            {
                removed(record);
            }
            self.advance();
        }
    }

    /// Removes any record to make room for another one: one that has not been looked at for long.
    pub(super) fn evict(&mut self) -> Option<Record> {
        for _ in 0..self.slots() {
            walk(1);
            let slot = slot_of(&self.chunks, self.cursor).copied();
            self.advance();
            if let Some(Slot::Used(record)) = slot {
                return self.remove(record.key);
            }
        }
        None
    }

    fn advance(&mut self) {
        let next = self.cursor.wrapping_add(1);
        self.cursor = if (next as usize) < self.slots() { next } else { 0 };
    }

    /// Returns the memory that the records take.
    pub(super) fn bytes(&self) -> usize {
        let chunks = self.chunks.len().saturating_mul(size_of::<[Slot; CHUNK]>());
        chunks.saturating_add(self.index.allocation_size())
    }

    fn slots(&self) -> usize {
        self.chunks.len().saturating_mul(CHUNK)
    }

    fn record(&self, slot: u32) -> Option<&Record> {
        match slot_of(&self.chunks, slot)? {
            Slot::Used(record) => Some(record),
            Slot::Free(_) => None,
        }
    }

    fn has_key(&self, slot: u32, key: IdKey) -> bool {
        slot_of(&self.chunks, slot).is_some_and(|slot| slot.has_key(key))
    }

    fn take_free_slot(&mut self) -> u32 {
        if self.free == NONE {
            self.grow();
        }
        let slot = self.free;
        if let Some(Slot::Free(next)) = slot_of(&self.chunks, slot) {
            self.free = *next;
        }
        slot
    }

    /// Adds a chunk. Its slots become the free ones.
    fn grow(&mut self) {
        let first = u32::try_from(self.slots()).unwrap_or(NONE);
        let mut next = first;
        let mut chunk = [(); CHUNK].map(|()| {
            next = next.wrapping_add(1);
            Slot::Free(next)
        });
        if let Some(last) = chunk.last_mut() {
            *last = Slot::Free(NONE);
        }
        self.chunks.push(Box::new(chunk));
        self.free = first;
    }

    /// Frees a slot that the index no longer has. The last one frees the memory, but that of one chunk: a record that
    /// comes and goes, as that of a lease does, should find it again.
    fn free(&mut self, slot: u32) -> Option<Record> {
        let next = self.free;
        let freed = std::mem::replace(slot_mut(&mut self.chunks, slot)?, Slot::Free(next));
        self.free = slot;
        if self.index.is_empty() && self.chunks.len() > 1 {
            *self = Segment::default();
        }
        match freed {
            Slot::Used(record) => Some(record),
            Slot::Free(_) => None,
        }
    }
}

impl Slot {
    fn has_key(&self, key: IdKey) -> bool {
        matches!(self, Slot::Used(record) if record.key == key)
    }
}

fn slot_of(chunks: &[Box<[Slot; CHUNK]>], slot: u32) -> Option<&Slot> {
    let slot = slot as usize;
    chunks.get(slot / CHUNK)?.get(slot % CHUNK)
}

fn slot_mut(chunks: &mut [Box<[Slot; CHUNK]>], slot: u32) -> Option<&mut Slot> {
    let slot = slot as usize;
    chunks.get_mut(slot / CHUNK)?.get_mut(slot % CHUNK)
}
