//! The shards of an operation with few items, all locked before anything is decided.
//!
//! As [`LockedShards`](super::locked_shards), but without room for a batch: this is the path of a policy of several
//! limits, where every step counts.

use tollgate_core::{Name, Op, Subject};

use super::locked_shards::is_same_subject;
use super::several::{MAX_SEVERAL, Shards};
use super::thread_cache::cached_hash;
use crate::hash::Hash;
use crate::lock::{Guard, Lock};
use crate::memory::store::MemoryStore;
use crate::memory::table::record::OneWordRecord;
use crate::memory::table::shard::Shard;

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
        let subject = op.items.first()?.subject;
        if !op.items.iter().all(|item| is_same_subject(item.subject, subject)) {
            return None;
        }
        let hash = cached_hash_of(store, op.policy, subject);
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
fn cached_hash_of(store: &MemoryStore, policy: &Name, subject: Subject<'_>) -> Hash {
    let salt = store.secret.salt(policy, subject);
    cached_hash::<OneWordRecord>(store.number, salt, subject.key.as_bytes()).0
}

impl<'a> FewShards<'a> {
    /// Locks the shards of all items. Returns `None` if there are too many items, or one of the shards is locked
    /// already.
    #[inline(always)]
    pub(super) fn try_lock(store: &'a MemoryStore, op: &Op<'_>) -> Option<FewShards<'a>> {
        const NO_HASH: Hash = Hash { shard: 0, fingerprint: 0 };
        let mut few = FewShards {
            hashes: [NO_HASH; MAX_SEVERAL],
            guards: [const { None }; MAX_SEVERAL],
            guard_of: [0; MAX_SEVERAL],
        };
        for (index, item) in op.items.iter().enumerate() {
            let hash = cached_hash_of(store, op.policy, item.subject);
            *few.hashes.get_mut(index)? = hash;
            few.lock(store, index, hash)?;
        }
        Some(few)
    }

    /// Locks the shard of an item, unless an item before it has the same.
    #[inline(always)]
    fn lock(&mut self, store: &'a MemoryStore, index: usize, hash: Hash) -> Option<()> {
        let shard = store.shard_index(hash);
        let has_shard = |before: &Hash| store.shard_index(*before) == shard;
        let same = self.hashes.get(..index)?.iter().position(has_shard);
        *self.guard_of.get_mut(index)? = match same {
            Some(before) => *self.guard_of.get(before)?,
            None => {
                *self.guards.get_mut(index)? = Some(store.shard(shard).and_then(Lock::try_lock)?);
                index
            }
        };
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
