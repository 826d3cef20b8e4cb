//! The shards of a batch, all locked before anything is decided.
//!
//! They are locked in the order of the items if all of them are free, which is nearly always so;
//! otherwise in the order of their indices, so that no two callers wait for each other. Meanwhile
//! everything is prefetched: each lock as soon as its key is hashed, and each home in a table as soon
//! as its shard is locked. So the batch waits for memory once, not once for every key.

use std::{mem, ptr};

use smallvec::SmallVec;
use tollgate_core::{Name, Subject};

use crate::hash::{Hash, Scope};
use crate::lock::{Guard, Lock};
use crate::memory::store::MemoryStore;
use crate::memory::table::prefetch::prefetch;
use crate::memory::table::shard::Shard;

/// Number of operations that are applied together.
pub(crate) const BATCH_SIZE: usize = 16;

/// The locked shards of items.
pub(super) trait Shards {
    /// Returns the shard of an item, and the hash of its subject.
    fn shard(&mut self, item: usize) -> Option<(&mut Shard, Hash)>;
    /// As [`shard`](Shards::shard), if nothing is changed: what other threads have read stays valid.
    fn shard_to_read(&self, item: usize) -> Option<(&Shard, Hash)>;
}

/// One for each item of a batch.
type PerItem<T> = SmallVec<[T; BATCH_SIZE]>;

/// The locked shards of all items of a batch, and where each item is.
#[derive(Default)]
pub(super) struct LockedShards<'a> {
    items: PerItem<LocatedItem>,
    guards: PerItem<Guard<'a, Shard>>,
    /// By how much the memory of the tables of the visited shards has changed, and was not counted yet.
    change: usize,
}

/// Where an item is.
struct LocatedItem {
    hash: Hash,
    shard_index: usize,
    /// Index of the guard of its shard.
    guard: usize,
}

/// The items of one operation of a batch.
#[derive(Clone, Copy)]
pub(super) struct ItemRange {
    /// Index of the first item.
    pub(super) first: usize,
    pub(super) count: usize,
}

impl Shards for LockedShards<'_> {
    #[inline]
    fn shard(&mut self, item: usize) -> Option<(&mut Shard, Hash)> {
        let item = self.items.get(item)?;
        Some((self.guards.get_mut(item.guard)?, item.hash))
    }

    #[inline]
    fn shard_to_read(&self, item: usize) -> Option<(&Shard, Hash)> {
        let item = self.items.get(item)?;
        Some((self.guards.get(item.guard)?, item.hash))
    }
}

impl LockedShards<'_> {
    /// Returns whether the shard with this index is one of them.
    pub(super) fn has(&self, shard_index: usize) -> bool {
        self.items.iter().any(|item| item.shard_index == shard_index)
    }

    /// Returns what the ids of an operation with these items belong to.
    pub(super) fn scope(&self, items: ItemRange) -> Scope {
        Scope::of(&self.items.iter().skip(items.first).take(items.count).map(|item| item.hash))
    }

    /// Iterates over the shards, each of them once.
    pub(super) fn shards(&mut self) -> impl Iterator<Item = &mut Shard> {
        self.guards.iter_mut().map(|guard| &mut **guard)
    }

    /// Visits the shard and the fingerprint of each item of an operation, in their order.
    pub(super) fn for_each(&mut self, items: ItemRange, mut visit: impl FnMut(&mut Shard, u64)) {
        for position in 0..items.count {
            if let Some((shard, hash)) = self.shard(items.first.saturating_add(position)) {
                let fingerprint = hash.fingerprint_at(position);
                let ((), change) = shard.measured(|shard| visit(shard, fingerprint));
                self.change = self.change.wrapping_add(change);
            }
        }
    }

    /// Returns by how much the memory of the tables of the visited shards has changed since the last call.
    pub(super) fn take_change(&mut self) -> usize {
        mem::take(&mut self.change)
    }
}

/// Returns whether both are the same name. Those of one operation mostly are in the same place.
#[inline]
fn is_same_name(one: &Name, other: &Name) -> bool {
    ptr::eq(one, other) || one == other
}

/// Returns whether both are the same subject.
#[inline]
pub(super) fn is_same_subject(one: Subject<'_>, other: Subject<'_>) -> bool {
    let is_same = match (one.name, other.name) {
        (Some(one), Some(other)) => is_same_name(one, other),
        (one, other) => one.is_none() && other.is_none(),
    };
    let (key, other_key) = (one.key.as_bytes(), other.key.as_bytes());
    is_same && (ptr::eq(key, other_key) || key == other_key)
}

impl MemoryStore {
    /// Finds and locks the shards of all subjects, which are hashed by `hash`. `locked`, which is large, must be
    /// empty.
    #[inline]
    pub(super) fn lock_all<'a, 's>(
        &'a self,
        locked: &mut LockedShards<'a>,
        subjects: impl Iterator<Item = (&'s Name, Subject<'s>)>,
        hash: impl Fn(&'s Name, Subject<'s>) -> Hash,
    ) {
        let mut last = None;
        for (policy, subject) in subjects {
            // The limits of a policy mostly count the same subject.
            let hash = match (last, locked.items.last()) {
                (Some((name, other)), Some(item))
                    if is_same_name(name, policy) && is_same_subject(other, subject) =>
                {
                    item.hash
                }
                _ => hash(policy, subject),
            };
            last = Some((policy, subject));
            let shard_index = self.shard_index(hash);
            if let Some(shard) = self.shards.get(shard_index) {
                prefetch(shard, |shard| shard.0.version());
            }
            locked.items.push(LocatedItem { hash, shard_index, guard: 0 });
        }
        if !self.try_lock_all(locked) {
            self.lock_in_order(locked);
        }
    }

    /// Tries to lock the shards in the order of the items; adjacent items of one shard share a guard.
    /// If one of the shards is locked already, locks none and returns false.
    fn try_lock_all<'a>(&'a self, locked: &mut LockedShards<'a>) -> bool {
        let LockedShards { items, guards, .. } = locked;
        let mut last = None;
        let all = items
            .iter_mut()
            .all(|item| self.lock_item(&mut last, item, guards, Lock::try_lock).is_some());
        if !all {
            guards.clear();
        }
        all
    }

    #[cold]
    fn lock_in_order<'a>(&'a self, locked: &mut LockedShards<'a>) {
        let mut order: PerItem<&mut LocatedItem> = locked.items.iter_mut().collect();
        order.sort_unstable_by_key(|item| item.shard_index);
        let mut last = None;
        for item in order {
            self.lock_item(&mut last, item, &mut locked.guards, |lock| Some(lock.lock()));
        }
    }

    /// Locks the shard of an item, unless it is the one that was locked last.
    #[inline(always)]
    fn lock_item<'a>(
        &'a self,
        last: &mut Option<usize>,
        item: &mut LocatedItem,
        guards: &mut PerItem<Guard<'a, Shard>>,
        lock: impl FnOnce(&'a Lock<Shard>) -> Option<Guard<'a, Shard>>,
    ) -> Option<()> {
        if *last != Some(item.shard_index) {
            guards.push(lock(self.shard(item.shard_index)?)?);
            *last = Some(item.shard_index);
        }
        item.guard = guards.len().saturating_sub(1);
        guards.last()?.prefetch(item.hash.fingerprint_at(0));
        Some(())
    }
}
