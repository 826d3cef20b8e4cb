//! The shards of a batch, all locked before anything is decided.
//!
//! As they come if nobody has any of them, which is nearly always so; else in their order, so that no
//! two callers wait for each other. On the way the processor is told what will be wanted: each lock as
//! soon as its key is hashed, and each place in a table as soon as its shard is locked. So memory is
//! waited for once, not once for every key.

use smallvec::SmallVec;
use tollgate_core::{Name, Subject};

use super::MemoryStore;
use super::batch::BATCH;
use super::hash::Hash;
use super::lock::{Guard, Lock};
use super::prefetch::prefetch;
use super::shard::Shard;

/// One for each item of a batch.
type Each<T> = SmallVec<[T; BATCH]>;

/// The shards of all items of a batch, locked, and where each item is.
#[derive(Default)]
pub(super) struct LockedShards<'a> {
    found: Each<Found>,
    guards: Each<Guard<'a, Shard>>,
}

/// Where an item is.
struct Found {
    hash: Hash,
    /// The place of its shard.
    place: usize,
    /// Which of the guards has it.
    guard: usize,
}

impl LockedShards<'_> {
    #[inline]
    pub(super) fn shard(&mut self, item: usize) -> Option<(&mut Shard, Hash)> {
        let found = self.found.get(item)?;
        Some((self.guards.get_mut(found.guard)?, found.hash))
    }

    pub(super) fn hash(&self, item: usize) -> Option<Hash> {
        self.found.get(item).map(|found| found.hash)
    }

    /// Whether the shard at this place is one of them.
    pub(super) fn has(&self, place: usize) -> bool {
        self.found.iter().any(|found| found.place == place)
    }

    /// Each of them once.
    pub(super) fn shards(&mut self) -> impl Iterator<Item = &mut Shard> {
        self.guards.iter_mut().map(|guard| &mut **guard)
    }
}

impl MemoryStore {
    /// Finds and locks the shards of all subjects.
    #[inline]
    pub(super) fn lock_all<'s>(
        &self,
        subjects: impl Iterator<Item = (&'s Name, Subject<'s>)>,
    ) -> LockedShards<'_> {
        let mut locked = LockedShards::default();
        let mut last = None;
        for (policy, subject) in subjects {
            // Limits of one policy mostly count the same subject.
            let hash = match (last, locked.found.last()) {
                (Some(last), Some(found)) if last == (policy, subject) => found.hash,
                _ => self.secret.hash(policy, subject),
            };
            last = Some((policy, subject));
            let place = self.place(hash);
            if let Some(line) = self.shards.get(place) {
                prefetch(line, |line| line.0.changes());
            }
            locked.found.push(Found { hash, place, guard: 0 });
        }
        if !self.lock_as_they_come(&mut locked) {
            self.lock_in_order(&mut locked);
        }
        locked
    }

    /// Those that are the same follow each other. If somebody has one of them, none is locked.
    fn lock_as_they_come<'a>(&'a self, locked: &mut LockedShards<'a>) -> bool {
        let LockedShards { found, guards } = locked;
        let mut last = None;
        let all = found
            .iter_mut()
            .all(|found| self.lock_after(&mut last, found, guards, Lock::try_lock).is_some());
        if !all {
            guards.clear();
        }
        all
    }

    #[cold]
    fn lock_in_order<'a>(&'a self, locked: &mut LockedShards<'a>) {
        let mut order: Each<&mut Found> = locked.found.iter_mut().collect();
        order.sort_unstable_by_key(|found| found.place);
        let mut last = None;
        for found in order {
            self.lock_after(&mut last, found, &mut locked.guards, |lock| Some(lock.lock()));
        }
    }

    /// Locks the shard of an item, unless it is the one that was locked last.
    #[inline(always)]
    fn lock_after<'a>(
        &'a self,
        last: &mut Option<usize>,
        found: &mut Found,
        guards: &mut Each<Guard<'a, Shard>>,
        lock: impl FnOnce(&'a Lock<Shard>) -> Option<Guard<'a, Shard>>,
    ) -> Option<()> {
        if *last != Some(found.place) {
            guards.push(lock(self.shard(found.place)?)?);
            *last = Some(found.place);
        }
        found.guard = guards.len().saturating_sub(1);
        guards.last()?.prefetch(found.hash.fingerprint_at(0));
        Some(())
    }
}
