//! A bounded table of what a layer knows of keys.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::budget::Part;
use super::hash::{Hash, index_in};
use crate::lock::{Guard, Lock};

/// Number of parts with a lock each.
const SHARDS: usize = 64;
/// A shard is swept when it has grown to twice the size it had after the last sweep, and to this many
/// entries at least.
const MIN_SWEEP: usize = 64;
/// Least time between two sweeps of a shard because there is no room, in microseconds.
const SWEEP_PAUSE: u64 = 100_000;

/// What a layer knows of one key.
pub(super) trait Entry {
    /// Returns whether it can be forgotten at this instant (microseconds) without being missed.
    fn is_idle(&self, now: u64) -> bool;

    /// Returns how many bytes it takes outside of the table. They never change.
    fn heap_bytes(&self) -> usize {
        0
    }
}

/// A table of entries by their hash. It takes its memory from a budget, and forgets idle entries by itself.
pub(super) struct Table<E> {
    shards: Box<[Lock<Shard<E>>]>,
    memory: Part,
}

struct Shard<E> {
    entries: HashMap<Hash, E, BuildHasherDefault<Identity>>,
    /// Number of entries at which it is swept next.
    sweep_at: usize,
    /// When it was swept last.
    swept: u64,
    /// Number of checks that were answered by its entries.
    answered: u64,
}

/// One part of the table, locked.
pub(super) struct Locked<'t, E> {
    shard: Guard<'t, Shard<E>>,
    memory: &'t Part,
}

impl<E: Entry> Table<E> {
    /// Returns what an entry takes in all: a hash map keeps up to half of its places free.
    fn bytes(entry: &E) -> usize {
        (2 * (size_of::<(Hash, E)>() + 1)).saturating_add(entry.heap_bytes())
    }

    pub(super) fn new(memory: Part) -> Table<E> {
        let shard =
            || Shard { entries: HashMap::default(), sweep_at: MIN_SWEEP, swept: 0, answered: 0 };
        Table { shards: (0..SHARDS).map(|_| Lock::new(shard())).collect(), memory }
    }

    /// Locks the part of the table that a hash belongs to.
    pub(super) fn lock(&self, hash: Hash) -> Option<Locked<'_, E>> {
        let shard = self.shards.get(index_in(SHARDS, hash))?.lock();
        Some(Locked { shard, memory: &self.memory })
    }

    /// Returns the number of checks that were answered by entries.
    pub(super) fn answered(&self) -> u64 {
        self.shards.iter().map(|shard| shard.lock().answered).sum()
    }

    /// Returns the sum of a number over all entries.
    pub(super) fn sum(&self, number: impl Fn(&E) -> u64) -> u64 {
        let sum_of = |shard: &Lock<Shard<E>>| {
            shard.lock().entries.values().map(&number).fold(0, u64::saturating_add)
        };
        self.shards.iter().map(sum_of).fold(0, u64::saturating_add)
    }
}

impl<E: Entry> Locked<'_, E> {
    /// Counts a check that was answered by an entry. To count under the lock costs nothing, while a number that
    /// all threads share costs as much as the rest of the check.
    pub(super) fn count_answered(&mut self) {
        self.shard.answered = self.shard.answered.saturating_add(1);
    }

    pub(super) fn get_mut(&mut self, hash: Hash) -> Option<&mut E> {
        self.shard.entries.get_mut(&hash)
    }

    pub(super) fn remove(&mut self, hash: Hash) -> Option<E> {
        let removed = self.shard.entries.remove(&hash)?;
        self.memory.give_back(Table::bytes(&removed));
        Some(removed)
    }

    /// Inserts or replaces an entry. Returns whether there was room for it.
    pub(super) fn insert(&mut self, hash: Hash, entry: E, now: u64) -> bool {
        if self.shard.entries.contains_key(&hash) {
            self.remove(hash);
        }
        if self.shard.entries.len() >= self.shard.sweep_at {
            self.sweep(now);
        }
        let has_room = self.take_room(Table::bytes(&entry), now);
        if has_room {
            self.shard.entries.insert(hash, entry);
        }
        has_room
    }

    fn take_room(&mut self, bytes: usize, now: u64) -> bool {
        if self.memory.take(bytes) {
            return true;
        }
        if now.abs_diff(self.shard.swept) < SWEEP_PAUSE {
            return false;
        }
        self.sweep(now);
        self.memory.take(bytes)
    }

    /// Forgets idle entries. Since the next sweep waits until the shard has doubled, an insertion sweeps two
    /// entries on average.
    fn sweep(&mut self, now: u64) {
        let Shard { entries, sweep_at, swept, .. } = &mut *self.shard;
        let mut freed: usize = 0;
        entries.retain(|_, entry| {
            let is_idle = entry.is_idle(now);
            freed = freed.saturating_add(if is_idle { Table::bytes(entry) } else { 0 });
            !is_idle
        });
        self.memory.give_back(freed);
        // A map keeps its places, also those that no entry pays for any more.
        if entries.capacity() / 4 > entries.len().max(MIN_SWEEP) {
            entries.shrink_to(entries.len().saturating_mul(2));
        }
        *sweep_at = entries.len().saturating_mul(2).max(MIN_SWEEP);
        *swept = now;
    }
}

/// The hasher of keys that are hashes already.
#[derive(Default)]
pub(super) struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    /// Takes the high half: the low one selects the shard.
    fn write_u128(&mut self, hash: u128) {
        self.0 = (hash >> 64) as u64;
    }

    fn write(&mut self, _: &[u8]) {}
}
