//! The shards of an operation with few items, all locked before anything is decided.
//!
//! As [`LockedShards`](super::locked_shards), but without room for a batch: this is the path of a policy of several
//! limits, where every step counts.

use tollgate_core::{Name, Op, Subject};

use super::locked_shards::{Shards, is_same_subject};
use super::thread_cache::{cached_hash, cached_hashes};
use crate::hash::Hash;
use crate::lock::Guard;
use crate::memory::store::MemoryStore;
use crate::memory::table::record::OneWordRecord;
use crate::memory::table::shard::Shard;

/// Maximum number of limits that are checked in their records. More are rare, and take the general path.
pub(super) const MAX_SEVERAL: usize = 4;

/// The locked shards of all items, and where each item is.
pub(super) struct FewShards<'a> {
    hashes: [Hash; MAX_SEVERAL],
    /// The guard of each item, unless an item before it has the same shard.
    guards: [Option<Guard<'a, Shard>>; MAX_SEVERAL],
    /// The item that has the guard of the shard of each item.
    guard_of: [usize; MAX_SEVERAL],
}

/// The locked shard of an operation whose items all count the same subject, as the limits of a policy mostly do.
pub(super) struct OneShard<'a> {
    hash: Hash,
    guard: Guard<'a, Shard>,
}

impl<'a> OneShard<'a> {
    /// Locks the shard of the only subject. Returns `None` if there are several.
    #[inline(always)]
    pub(super) fn lock(store: &'a MemoryStore, op: &Op<'_>) -> Option<OneShard<'a>> {
        let (first, others) = op.items.split_first()?;
        for other in others {
            if !is_same_subject(other.subject, first.subject) {
                return None;
            }
        }
        let hash = cached_hash_of(store, op.policy, first.subject);
        Some(OneShard { hash, guard: store.shard(store.shard_index(hash))?.lock() })
    }
}

impl Shards for OneShard<'_> {
    #[inline(always)]
    fn shard(&mut self, _: usize) -> Option<(&mut Shard, Hash)> {
        Some((&mut self.guard, self.hash))
    }

    #[inline(always)]
    fn shard_to_read(&self, _: usize) -> Option<(&Shard, Hash)> {
        Some((&self.guard, self.hash))
    }
}

#[inline(always)]
pub(super) fn cached_hash_of(store: &MemoryStore, policy: &Name, subject: Subject<'_>) -> Hash {
    let salt = store.secret.salt(policy, subject);
    cached_hash::<OneWordRecord>(store.number, salt, subject.key.as_bytes()).0
}

impl<'a> FewShards<'a> {
    /// No shards. They are large to move: [`try_lock`](FewShards::try_lock) fills them in.
    #[inline(always)]
    pub(super) fn none() -> FewShards<'a> {
        FewShards {
            hashes: [Hash::NONE; MAX_SEVERAL],
            guards: [const { None }; MAX_SEVERAL],
            guard_of: [0; MAX_SEVERAL],
        }
    }

    /// Locks the shards of all items. Returns `None` if one of the shards is locked already.
    #[inline(always)]
    pub(super) fn try_lock(&mut self, store: &'a MemoryStore, op: &Op<'_>) -> Option<()> {
        let keys = op.items.iter().zip(&mut self.hashes).map(|(item, hash)| {
            let salt = store.secret.salt(op.policy, item.subject);
            (salt, item.subject.key.as_bytes(), hash)
        });
        cached_hashes(store.number, keys);
        for item in 0..op.items.len() {
            self.lock(store, item)?;
        }
        Some(())
    }

    /// Locks the shard of an item, unless an item before it has the same.
    #[inline(always)]
    fn lock(&mut self, store: &'a MemoryStore, item: usize) -> Option<()> {
        let shard = store.shard_index(*self.hashes.get(item)?);
        for before in 0..item {
            if store.shard_index(*self.hashes.get(before)?) == shard {
                *self.guard_of.get_mut(item)? = *self.guard_of.get(before)?;
                return Some(());
            }
        }
        *self.guards.get_mut(item)? = Some(store.shard(shard)?.try_lock()?);
        *self.guard_of.get_mut(item)? = item;
        Some(())
    }
}

impl Shards for FewShards<'_> {
    #[inline(always)]
    fn shard(&mut self, item: usize) -> Option<(&mut Shard, Hash)> {
        let guard = self.guards.get_mut(*self.guard_of.get(item)?)?.as_mut()?;
        Some((guard, *self.hashes.get(item)?))
    }

    #[inline(always)]
    fn shard_to_read(&self, item: usize) -> Option<(&Shard, Hash)> {
        let guard = self.guards.get(*self.guard_of.get(item)?)?.as_ref()?;
        Some((guard, *self.hashes.get(item)?))
    }
}
