//! Some of the records, under one lock.

use tollgate_core::Time;
use tollgate_core::storage::walk;

use super::index::Index;
use super::record::{IdKey, Record};
use super::slots::Slots;

/// Records by their keys, with a cursor that goes round and finds those that have expired.
#[derive(Default)]
pub(super) struct Segment {
    index: Index,
    slots: Slots,
}

impl Segment {
    pub(super) fn find(&self, key: IdKey) -> Option<&Record> {
        self.slots.record(self.index.find(key, |slot| self.slots.has(slot, |known| known == key))?)
    }

    /// Prefetches what finding and inserting this key touches.
    #[inline]
    pub(super) fn prefetch(&mut self, key: IdKey) {
        self.index.prefetch(key);
        self.slots.prefetch();
    }

    /// Replaces a record with the same key, which is of the same policy. Returns false if there is none.
    #[inline]
    pub(super) fn replace(&mut self, record: &Record) -> bool {
        let slot =
            self.index.find(record.key, |slot| self.slots.has(slot, |key| key == record.key));
        slot.is_some_and(|slot| self.slots.replace(slot, *record))
    }

    /// Inserts a record whose key is not present.
    #[inline]
    pub(super) fn insert(&mut self, record: Record) {
        self.index.insert(record.key, self.slots.insert(record));
    }

    /// Removes a record.
    #[inline]
    pub(super) fn remove(&mut self, key: IdKey) -> Option<Record> {
        self.remove_where(key, |known| known == key)
    }

    /// Removes one of the records of an id.
    pub(super) fn remove_any_of(&mut self, id: IdKey) -> Option<Record> {
        self.remove_where(id, |known| known.is_of_same_id(id))
    }

    #[inline]
    fn remove_where(&mut self, id: IdKey, is_it: impl Fn(IdKey) -> bool) -> Option<Record> {
        let slot = self.index.find(id, |slot| self.slots.has(slot, &is_it))?;
        self.index.remove(id, slot);
        let removed = self.slots.remove(slot);
        // The last one frees the memory, but that of one chunk: a record that comes and goes, as that of a lease does,
        // should find it again.
        if self.index.is_empty() && self.slots.chunks() > 1 {
            *self = Segment::default();
        }
        removed
    }

    /// Looks at some chunks, and removes the records that have expired at `horizon`. Passes each of them to
    /// `removed`.
    #[inline]
    pub(super) fn sweep(&mut self, chunks: usize, horizon: Time, mut removed: impl FnMut(Record)) {
        for _ in 0..chunks.min(self.slots.chunks()) {
            if self.slots.may_have_expired(horizon) {
                self.sweep_chunk(horizon, &mut removed);
            }
            self.slots.advance();
        }
    }

    /// Removes the records of the chunk at the cursor that have expired.
    #[cold]
    fn sweep_chunk(&mut self, horizon: Time, removed: &mut impl FnMut(Record)) {
        let chunk = self.slots.at_cursor();
        walk(chunk.len());
        for slot in chunk {
            let expired = self.slots.record(slot).filter(|record| record.expires <= horizon);
            if let Some(Record { key, .. }) = expired.copied() {
                self.remove(key).into_iter().for_each(&mut *removed);
            }
        }
        self.slots.note_expiries();
    }

    /// Removes any record to make room for another one: one that has not been looked at for long.
    pub(super) fn evict(&mut self) -> Option<Record> {
        for _ in 0..self.slots.chunks() {
            let mut chunk = self.slots.at_cursor();
            walk(chunk.len());
            if let Some(record) = chunk.find_map(|slot| self.slots.record(slot).copied()) {
                return self.remove(record.key);
            }
            self.slots.advance();
        }
        None
    }

    /// Returns the memory that the records take.
    pub(super) fn bytes(&self) -> usize {
        self.slots.bytes().saturating_add(self.index.bytes())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tollgate_core::storage::Handle;
    use tollgate_core::{Act, Time};

    use super::{IdKey, Record, Segment};

    /// Keys of which many have the same place in the index.
    fn record(id: u64, expires: u64) -> Record {
        let key = IdKey::new(Handle::from_words([(id % 50) << 32, id << 4]), Act::Check);
        Record {
            key,
            expires: Time::from_micros(expires).unwrap(),
            decision: None,
            resets: 0,
            share: 0,
        }
    }

    #[test]
    fn a_segment_behaves_as_a_map_from_which_what_has_expired_is_swept() {
        let (mut segment, mut model, mut random) = (Segment::default(), BTreeMap::new(), 1_u64);
        for now in 0..20_000_u64 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(now);
            let (id, expires) = ((random >> 33) % 500, now + (random >> 50) % 300);
            if random >> 62 == 0 {
                let removed = segment.remove(record(id, 0).key);
                assert_eq!(removed.map(|record| record.expires.as_micros()), model.remove(&id));
            } else {
                let new = record(id, expires);
                if !segment.replace(&new) {
                    segment.insert(new);
                }
                model.insert(id, expires);
            }
            let mut swept = 0;
            segment.sweep(1, Time::from_micros(now).unwrap(), |record| {
                assert!(record.expires.as_micros() <= now);
                swept += 1;
            });
            let before = model.len();
            model.retain(|id, _| segment.find(record(*id, 0).key).is_some());
            assert_eq!(before - model.len(), swept);
            let expired = model.values().filter(|expires| **expires <= now).count();
            assert!(expired <= 16 + model.len() / 8, "{expired} of {} at {now}", model.len());
        }
    }
}
