//! The builder of a store.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use tollgate_core::{Span, Time};

use super::ids::{MAX_BYTES_PER_ID, RememberedIds};
use super::snapshot::{self, SnapshotError};
use super::store::{AlignedShard, MemoryStore, StoreNumber, WhenFull};
use super::table::key_budget::KeyBudget;
use super::table::layout::Layout;
use super::table::memory_budget::{self, MemoryBudget};
use super::table::quota::Quotas;
use super::table::shard::Shard;
use super::table::terms::TermsList;
use crate::clock::Clock;
use crate::hash::Secret;
use crate::lock::Lock;

/// Default of [`MemoryStoreBuilder::max_keys`].
const DEFAULT_MAX_KEYS: usize = 10_000_000;
/// Default of [`MemoryStoreBuilder::slack`].
const DEFAULT_SLACK: Span = Span::from_micros(1_000_000);
/// Default of [`MemoryStoreBuilder::max_memory`].
const DEFAULT_MAX_MEMORY: usize = 1 << 30;
/// Minimum of [`MemoryStoreBuilder::max_memory`]. With less there is hardly room for a key.
pub(crate) const MIN_MEMORY: usize = 64 << 10;
/// Number of keys for which there is room for one remembered id. Ids take more memory than most keys.
const KEYS_PER_ID: usize = 4;
/// Number of keys per shard when the store is full, until there are [`MAX_SHARDS`].
const KEYS_PER_SHARD: usize = 1024;
/// About how many bytes a key takes at least.
const BYTES_PER_KEY: usize = 32;
/// Maximum number of shards. A power of two, large enough that the chance of a collision among ten
/// million keys is below one in a billion: the fingerprint has 64 bits, and the shard another 12.
const MAX_SHARDS: usize = 4096;

/// The error of a store without room for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuildError(TooSmall);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TooSmall {
    MaxKeys,
    MaxMemory(usize),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            TooSmall::MaxKeys => f.write_str("max_keys is 0; expected 1 or more"),
            TooSmall::MaxMemory(bytes) => {
                write!(f, "max_memory is {bytes}; expected {MIN_MEMORY} bytes or more")
            }
        }
    }
}

impl std::error::Error for BuildError {}

/// Builds a [`MemoryStore`].
#[derive(Debug, Clone)]
#[must_use]
pub struct MemoryStoreBuilder {
    max_keys: usize,
    max_memory: usize,
    when_full: WhenFull,
    clock: Option<Clock>,
    slack: Span,
}

impl Default for MemoryStoreBuilder {
    fn default() -> MemoryStoreBuilder {
        MemoryStoreBuilder {
            max_keys: DEFAULT_MAX_KEYS,
            max_memory: DEFAULT_MAX_MEMORY,
            when_full: WhenFull::Deny,
            clock: None,
            slack: DEFAULT_SLACK,
        }
    }
}

impl MemoryStoreBuilder {
    /// Sets the maximum number of states in memory, one for each limit of each key. A key of a gcra
    /// limit takes 20 to 45 bytes. Default: 10,000,000.
    pub fn max_keys(mut self, max_keys: usize) -> MemoryStoreBuilder {
        self.max_keys = max_keys;
        self
    }

    /// Sets the maximum number of bytes of memory. States with their slots may take half of it, ids a quarter,
    /// leases and open reservations an eighth each, so that a flood of one leaves the others their room. Of ids, slots,
    /// leases and open reservations, one policy may have three times what is left, so that it leaves the others some.
    /// [`StoreStats`](crate::StoreStats) says how much each takes. Default: 1 GiB; minimum: 64 KiB.
    ///
    /// Operations that run at the same time may together exceed it, each by the growth of one key.
    pub fn max_memory(mut self, bytes: usize) -> MemoryStoreBuilder {
        self.max_memory = bytes;
        self
    }

    /// Sets what happens to operations that need room when the store is full and none of its states has
    /// reset. Default: [`WhenFull::Deny`].
    pub fn when_full(mut self, when_full: WhenFull) -> MemoryStoreBuilder {
        self.when_full = when_full;
        self
    }

    /// Sets the clock. Default: [`Clock::system`].
    pub fn clock(mut self, clock: Clock) -> MemoryStoreBuilder {
        self.clock = Some(clock);
        self
    }

    /// Sets how long a state is kept past its reset, and an id past its minute, if there is room. A
    /// key that comes back within this time is found faster, and a clock that steps back by less
    /// gives no credit. Default: 1 second.
    pub fn slack(mut self, slack: Span) -> MemoryStoreBuilder {
        self.slack = slack;
        self
    }

    /// Creates the store.
    ///
    /// # Errors
    /// Fails if `max_keys` is 0, or `max_memory` less than 64 KiB.
    pub fn build(self) -> Result<Arc<MemoryStore>, BuildError> {
        self.check()?;
        Ok(Arc::new(self.build_with(Secret::random(), MAX_SHARDS)))
    }

    /// Creates the store and fills it from a [snapshot](MemoryStore::save), so that a restart gives
    /// no client a fresh burst. Returns the store, and the number of restored states: those that have
    /// not reset, as far as there is room. If the snapshot cannot be read, the store starts empty and
    /// the error is returned with it.
    ///
    /// The store has no more shards than the one that was saved, since the snapshot does not hold
    /// enough of the hashes to spread keys over more. If you raise `max_keys` a lot, start once
    /// without a snapshot.
    ///
    /// # Errors
    /// Fails if `max_keys` is 0, or `max_memory` less than 64 KiB.
    pub fn restore(
        self,
        path: impl AsRef<Path>,
    ) -> Result<(Arc<MemoryStore>, Result<usize, SnapshotError>), BuildError> {
        match snapshot::read(path.as_ref()) {
            Ok(snapshot) => {
                self.check()?;
                let store = self.build_with(snapshot.secret(), snapshot.shards());
                let restored = store.fill_from(snapshot);
                Ok((Arc::new(store), Ok(restored)))
            }
            Err(error) => Ok((self.build()?, Err(error))),
        }
    }

    fn check(&self) -> Result<(), BuildError> {
        if self.max_keys == 0 {
            return Err(BuildError(TooSmall::MaxKeys));
        }
        if self.max_memory < MIN_MEMORY {
            return Err(BuildError(TooSmall::MaxMemory(self.max_memory)));
        }
        Ok(())
    }

    fn build_with(self, secret: Secret, max_shards: usize) -> MemoryStore {
        let MemoryStoreBuilder { max_keys, max_memory, .. } = self;
        // A store with little memory has few shards, since each of them needs tables of its own.
        let most_keys = max_keys.min(memory_budget::for_states(max_memory) / BYTES_PER_KEY);
        let max_shards = max_shards.min(MAX_SHARDS);
        let shards = most_keys.div_ceil(KEYS_PER_SHARD).min(max_shards).next_power_of_two();
        let max_ids = memory_budget::for_ids(max_memory) / MAX_BYTES_PER_ID;
        let clock = self.clock.unwrap_or_default();
        let layout =
            Layout { terms: TermsList::new(), origin: origin(clock.now()), slack: self.slack };
        MemoryStore {
            number: StoreNumber::next(),
            secret,
            layout,
            shards: (0..shards).map(|_| AlignedShard(Lock::new(Shard::default()))).collect(),
            budget: KeyBudget::new(max_keys),
            quotas: Quotas::default(),
            memory: MemoryBudget::new(max_memory),
            ids: RememberedIds::new(max_ids.min(max_keys / KEYS_PER_ID)),
            when_full: self.when_full,
            clock,
            shared: Arc::default(),
        }
    }
}

impl MemoryStore {
    /// Creates a builder with the default settings.
    pub fn builder() -> MemoryStoreBuilder {
        MemoryStoreBuilder::default()
    }
}

impl Default for MemoryStore {
    /// Creates a store for ten million keys on the system clock.
    fn default() -> MemoryStore {
        MemoryStoreBuilder::default().build_with(Secret::random(), MAX_SHARDS)
    }
}

/// Returns the time that states of one word count from: a day before the start, for callers that
/// pass their own times.
fn origin(now: Time) -> Time {
    const DAY: u64 = 86_400_000_000;
    Time::from_micros(now.as_micros().saturating_sub(DAY)).unwrap_or(Time::EPOCH)
}
