//! The store itself: its parts and its numbers. The operations on it are in [`ops`](super::ops).

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tollgate_core::{Name, Policy};

use super::ids::RememberedIds;
use super::prepared::Prepared;
use super::stats::StoreStats;
use super::table::key_budget::KeyBudget;
use super::table::layout::Layout;
use super::table::memory_budget::MemoryBudget;
use super::table::quota::{Quota, Quotas};
use super::table::shard::Shard;
use crate::clock::Clock;
use crate::hash::{Hash, Secret, index_in};
use crate::limiter_store::{LimiterStore, Sealed};
use crate::lock::Lock;
use crate::shared::Shared;

/// A store in the memory of this process.
///
/// # What it guarantees
///
/// * **Exact.** However many threads call at once, operations on one subject happen one after the
///   other, and the limits of a policy are charged together or not at all.
/// * **Bounded.** Never more than [`max_keys`](crate::MemoryStoreBuilder::max_keys) states in
///   [`max_memory`](crate::MemoryStoreBuilder::max_memory). When there is no more room, states that have
///   reset are dropped; if there are none, [`when_full`](crate::MemoryStoreBuilder::when_full) decides about
///   what needs room: mostly new keys. A flood of new keys never refills an exhausted one.
/// * **No background work.** The store starts no thread. Each call for a new key sweeps a few states
///   that have reset.
/// * **Hashed keys.** States and ids are kept under hashes, made with a secret of this process; the
///   chance that two of ten million keys share a hash is below one in a billion. Beside the store, each
///   thread caches the bytes of eight recent keys of up to 40 bytes.
///
/// ```
/// use tollgate::{MemoryStore, WhenFull};
///
/// let store = MemoryStore::builder().max_keys(100_000).when_full(WhenFull::Allow).build()?;
/// let login = store.limiter("login", ["sliding-counters 5/min"])?;
/// let search = store.limiter("search", ["gcra 100/s burst 200"])?;
/// assert!(login.check("203.0.113.9")?.allowed);
/// assert!(search.check("203.0.113.9")?.allowed);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MemoryStore {
    pub(super) number: StoreNumber,
    pub(super) secret: Secret,
    pub(super) layout: Layout,
    pub(super) shards: Box<[AlignedShard]>,
    pub(super) budget: KeyBudget,
    pub(super) quotas: Quotas,
    pub(super) memory: MemoryBudget,
    pub(super) ids: RememberedIds,
    pub(super) when_full: WhenFull,
    pub(super) clock: Clock,
    pub(super) shared: Arc<Shared>,
}

/// A number that distinguishes the stores of this process. The hash of a key does not: stores that were
/// restored from the same snapshot hash alike.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct StoreNumber(u64);

impl StoreNumber {
    /// The number of no store.
    pub(super) const NONE: StoreNumber = StoreNumber(0);

    /// Returns a number that no other store has.
    pub(super) fn next() -> StoreNumber {
        static LAST: AtomicU64 = AtomicU64::new(0);
        StoreNumber(LAST.fetch_add(1, Ordering::Relaxed).wrapping_add(1))
    }
}

/// A shard on a cache line of its own, and no larger than that: what every check needs of the shards
/// stays close together.
#[repr(align(64))]
pub(super) struct AlignedShard(pub(super) Lock<Shard>);

#[cfg(not(all(test, loom)))]
const _: () = assert!(size_of::<AlignedShard>() == 64, "one cache line");

/// What a full store does with an operation that needs room: on a new key, or one that opens a reservation,
/// or takes another slot or lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum WhenFull {
    /// Denies it, so that no request passes uncounted.
    #[default]
    Deny,
    /// Allows it without counting it where there is no room. A known key is still denied beyond its limit.
    Allow,
}

impl MemoryStore {
    /// Returns how full the store is.
    #[must_use]
    pub fn stats(&self) -> StoreStats {
        StoreStats {
            keys: self.budget.keys.count(),
            max_keys: self.budget.keys.max(),
            states: self.memory.states(),
            leases: self.memory.leases(),
            reservations: self.memory.reservations(),
            remembered: self.ids.memory(),
            rejected: self.budget.rejected(),
            ids: self.ids.count(),
            max_ids: self.ids.max(),
            unremembered: self.ids.unremembered(),
        }
    }

    /// Returns how many bytes the states, leases and open reservations take.
    #[cfg(feature = "layers")]
    pub(crate) fn memory(&self) -> usize {
        let all = [self.memory.states(), self.memory.leases(), self.memory.reservations()];
        all.iter().fold(0, |sum, share| sum.saturating_add(share.bytes))
    }

    /// Returns the clock of the store.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Sets the maximum number of states of a policy, within [`max_keys`](crate::MemoryStoreBuilder::max_keys) of the
    /// store: a flood of new keys on it then leaves the other policies their room. `None` removes the bound. What
    /// needs more is decided by [`when_full`](crate::MemoryStoreBuilder::when_full). What the states keep beside
    /// themselves is bounded for [each policy](crate::MemoryStoreBuilder::max_memory) in any case.
    ///
    /// States that are there already may not count until they have reset. Make limiters of the policy afterwards.
    ///
    /// ```
    /// use std::num::NonZeroUsize;
    /// use tollgate::{MemoryStore, Name};
    ///
    /// let store = MemoryStore::builder().build()?;
    /// let search = Name::new("search")?;
    /// store.set_max_keys(&search, NonZeroUsize::new(2));
    /// let limiter = store.limiter("search", ["gcra 1/h"])?;
    /// assert!(limiter.check("a")?.allowed && limiter.check("b")?.allowed);
    /// assert!(!limiter.check("c")?.allowed, "there is no room for it");
    /// assert_eq!(store.keys_of(&search), Some(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_max_keys(&self, policy: &Name, max_keys: Option<NonZeroUsize>) {
        self.quotas.set(policy, max_keys);
    }

    /// Returns the number of states of a policy with a bound of its own.
    #[must_use]
    pub fn keys_of(&self, policy: &Name) -> Option<usize> {
        self.quotas.of(policy).as_deref().map(Quota::count)
    }

    #[inline]
    pub(super) fn shard_index(&self, hash: Hash) -> usize {
        index_in(self.shards.len(), hash.shard)
    }

    #[inline]
    pub(super) fn shard(&self, index: usize) -> Option<&Lock<Shard>> {
        self.shards.get(index).map(|shard| &shard.0)
    }
}

impl LimiterStore for MemoryStore {}

impl Sealed for MemoryStore {
    fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    fn is_remote(&self) -> bool {
        false
    }

    fn prepared(self: &Arc<Self>, policy: &Policy) -> Prepared {
        self.prepare(policy)
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

    use std::collections::BTreeMap;
    use std::time::Duration;

    use tollgate_core::storage::Footprint;
    use tollgate_model::random::Rng;

    use super::*;
    use crate::{Limiter, MemoryStoreBuilder};

    impl MemoryStore {
        /// Asserts that the counters of memory are what a walk over all states finds.
        fn assert_counted(&self) {
            let mut lists = BTreeMap::new();
            let mut tables = 0_usize;
            for AlignedShard(shard) in &self.shards {
                let shard = shard.lock();
                tables = tables.wrapping_add(shard.all_tables());
                for (share, footprint) in shard.lists() {
                    let sum: &mut Footprint = lists.entry(share).or_default();
                    *sum = sum.plus(footprint);
                }
            }
            self.memory.assert_are(tables, &lists);
        }
    }

    const POLICIES: [&[&str]; 4] = [
        &["gcra 10/s burst 50"],
        &["sliding-log 100/min"],
        &["concurrency 90 ttl 30s", "sliding-window 90/min"],
        &["sliding-counters 90/min resolution 1s", "concurrency 40 ttl 10s"],
    ];

    fn limiters(store: &Arc<MemoryStore>) -> Vec<Limiter> {
        let limiter = |(name, lines): (u8, &&[&str])| {
            store.limiter(&format!("policy-{name}"), lines.iter().copied()).unwrap()
        };
        (0..).zip(&POLICIES).map(limiter).collect()
    }

    fn operate(limiters: &[Limiter], rng: &mut Rng, n: u64) {
        let at = |n: u64| limiters[usize::try_from(n % 4).unwrap()].key(n / 4 % 20);
        let old = n.saturating_sub(rng.between(0, 160));
        let (id, old_id) = (n.to_le_bytes(), old.to_le_bytes());
        let (new, old) = (at(n).id(&id), at(old).id(&old_id));
        // A full store refuses some of them.
        let _ = match rng.between(0, 9) {
            0..=2 => new.check().map(drop),
            3 | 4 => new.cost(rng.between(0, 2)).reserve().map(drop),
            5 => old.cost(rng.between(0, 3)).settle().map(drop),
            6 => old.release().map(drop),
            7 => old.renew().map(drop),
            8 => at(n).refund().map(drop),
            _ if rng.between(0, 9) == 0 => at(n).reset().map(drop),
            _ => at(n).charge().map(drop),
        };
    }

    #[test]
    fn what_is_counted_is_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("states");
        let clock = Clock::manual();
        let builder = || MemoryStoreBuilder::default().max_memory(64 << 10).clock(clock.clone());
        let (mut store, mut rng) = (builder().build().unwrap(), Rng::new(1));
        for round in 0..20_u64 {
            let limiters = limiters(&store);
            for n in 0..2_000 {
                let pause =
                    if rng.between(1, 500) == 1 { 20_000_000 } else { rng.between(0, 5_000) };
                clock.advance(Duration::from_micros(pause));
                operate(&limiters, &mut rng, round * 2_000 + n);
                store.assert_counted();
            }
            assert!(store.stats().rejected > 0);
            store.save(&path).unwrap();
            store = builder().restore(&path).unwrap().0;
            store.assert_counted();
        }
    }
}
