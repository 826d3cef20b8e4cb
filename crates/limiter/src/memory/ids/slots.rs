//! Records in slots, which they keep.

use std::ops::Range;

use tollgate_core::Time;

use super::MAX_BYTES_PER_ID;
use super::record::{IdKey, Record, Slot};
use crate::memory::table::prefetch::prefetch;

/// Number of slots that are allocated together. Records are never moved.
const CHUNK: usize = SLOTS_PER_CHUNK as usize;
const SLOTS_PER_CHUNK: u32 = 16;
/// The index of no slot.
const NONE: u32 = u32::MAX;

// The index takes 8 bytes for each of its places, of which at least 3 in 8 are in use, and each chunk has 32 bytes more.
const _: () = assert!(size_of::<Slot>() + 8 * 8 / 3 + 32 / CHUNK < MAX_BYTES_PER_ID);

/// Slots that are allocated together.
struct Chunk {
    /// At most as many as there is memory for.
    slots: Vec<Slot>,
    /// No record in it expires earlier.
    first_expiry: Time,
}

/// Records, by the index of their slot.
pub(super) struct Slots {
    /// All but the last are full.
    chunks: Vec<Chunk>,
    /// The first free slot of those that were in use before.
    free: u32,
    /// The chunk that is looked at next.
    cursor: u32,
}

impl Default for Slots {
    fn default() -> Slots {
        Slots { chunks: Vec::new(), free: NONE, cursor: 0 }
    }
}

impl Slots {
    pub(super) fn chunks(&self) -> usize {
        self.chunks.len()
    }

    #[inline]
    pub(super) fn record(&self, slot: u32) -> Option<&Record> {
        match self.slot(slot)? {
            Slot::Used(record) => Some(record),
            Slot::Free(_) => None,
        }
    }

    /// Returns whether the slot has a record whose key is the one.
    #[inline]
    pub(super) fn has(&self, slot: u32, is_it: impl Fn(IdKey) -> bool) -> bool {
        self.record(slot).is_some_and(|record| is_it(record.key))
    }

    /// Inserts a record. Returns its slot.
    #[inline]
    pub(super) fn insert(&mut self, record: Record) -> u32 {
        if self.free == NONE { self.push(record) } else { self.reuse(record) }
    }

    /// Inserts a record into a slot that was not in use before.
    #[inline]
    fn push(&mut self, record: Record) -> u32 {
        if self.chunks.last().is_none_or(|last| last.slots.len() == CHUNK) {
            self.grow();
        }
        let full = self.chunks.len().saturating_sub(1).saturating_mul(CHUNK);
        let Some(last) = self.chunks.last_mut() else { return NONE };
        let slot = full.saturating_add(last.slots.len());
        last.first_expiry = last.first_expiry.min(record.expires);
        last.slots.push(Slot::Used(record));
        u32::try_from(slot).unwrap_or(NONE)
    }

    #[cold]
    fn grow(&mut self) {
        let slots = Vec::with_capacity(CHUNK);
        self.chunks.push(Chunk { slots, first_expiry: Time::MAX });
    }

    #[inline]
    fn reuse(&mut self, record: Record) -> u32 {
        let slot = self.free;
        if let Some(Slot::Free(next)) = self.slot(slot) {
            self.free = *next;
        }
        self.replace(slot, record);
        slot
    }

    /// Writes a record to a slot that has been in use. Returns false if there is no such slot.
    #[inline]
    pub(super) fn replace(&mut self, slot: u32, record: Record) -> bool {
        let (chunk, index) = place(slot);
        let Some(chunk) = self.chunks.get_mut(chunk) else { return false };
        let Some(slot) = chunk.slots.get_mut(index) else { return false };
        chunk.first_expiry = chunk.first_expiry.min(record.expires);
        *slot = Slot::Used(record);
        true
    }

    /// Removes a record, whose slot is the next one to be used.
    #[inline]
    pub(super) fn remove(&mut self, slot: u32) -> Option<Record> {
        let (chunk, index) = place(slot);
        let used = self.chunks.get_mut(chunk)?.slots.get_mut(index)?;
        let Slot::Used(record) = *used else { return None };
        *used = Slot::Free(self.free);
        self.free = slot;
        Some(record)
    }

    /// Prefetches the slot that is used next, and the chunk that is looked at next.
    #[inline]
    pub(super) fn prefetch(&mut self) {
        if let Some(chunk) = self.chunk_at_cursor() {
            prefetch(chunk, |chunk| chunk.first_expiry.as_micros());
        }
        let used = |slot: &Slot| u64::from(matches!(slot, Slot::Used(_)));
        if let Some(free) = self.slot(self.free) {
            prefetch(free, used);
        } else if let Some(last) = self.chunks.last_mut() {
            // A slot is longer than a line.
            last.slots.spare_capacity_mut().iter().take(2).for_each(|free| prefetch(free, |_| 0));
        }
    }

    /// Returns whether a record of the chunk at the cursor may have expired.
    #[inline]
    pub(super) fn may_have_expired(&self, horizon: Time) -> bool {
        self.chunk_at_cursor().is_some_and(|chunk| chunk.first_expiry <= horizon)
    }

    /// Returns the slots of the chunk at the cursor.
    pub(super) fn at_cursor(&self) -> Range<u32> {
        let first = self.cursor.saturating_mul(SLOTS_PER_CHUNK);
        let count = self.chunk_at_cursor().map_or(0, |chunk| chunk.slots.len());
        first..first.saturating_add(u32::try_from(count).unwrap_or_default())
    }

    /// Moves the cursor to the next chunk.
    #[inline]
    pub(super) fn advance(&mut self) {
        let next = self.cursor.wrapping_add(1);
        self.cursor = if (next as usize) < self.chunks.len() { next } else { 0 };
    }

    /// Notes when the first record of the chunk at the cursor expires.
    pub(super) fn note_expiries(&mut self) {
        if let Some(chunk) = self.chunks.get_mut(self.cursor as usize) {
            let expiries = chunk.slots.iter().filter_map(|slot| match slot {
                Slot::Used(record) => Some(record.expires),
                Slot::Free(_) => None,
            });
            chunk.first_expiry = expiries.min().unwrap_or(Time::MAX);
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let chunk = size_of::<Chunk>().saturating_add(CHUNK.saturating_mul(size_of::<Slot>()));
        self.chunks.len().saturating_mul(chunk)
    }

    #[inline]
    fn slot(&self, slot: u32) -> Option<&Slot> {
        let (chunk, index) = place(slot);
        self.chunks.get(chunk)?.slots.get(index)
    }

    #[inline]
    fn chunk_at_cursor(&self) -> Option<&Chunk> {
        self.chunks.get(self.cursor as usize)
    }
}

/// Returns the chunk of a slot, and its index there.
#[inline]
fn place(slot: u32) -> (usize, usize) {
    (slot as usize / CHUNK, slot as usize % CHUNK)
}
