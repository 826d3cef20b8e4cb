//! The builder of a store.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use tollgate_core::{Span, Time};

use super::ids::RememberedIds;
use super::snapshot::{self, SnapshotError};
use super::store::{AlignedShard, MemoryStore, StoreNumber, WhenFull};
use super::table::key_budget::KeyBudget;
use super::table::layout::Layout;
use super::table::shard::Shard;
use super::table::terms::TermsList;
use crate::clock::Clock;
use crate::hash::Secret;
use crate::lock::Lock;

/// Default of [`MemoryStoreBuilder::max_keys`].
const DEFAULT_MAX_KEYS: NonZeroUsize = NonZeroUsize::new(10_000_000).unwrap();
/// Default of [`MemoryStoreBuilder::slack`].
const DEFAULT_SLACK: Span = Span::from_micros(1_000_000);
/// Number of keys for which there is room for one remembered id. Ids take more memory than most keys.
const KEYS_PER_ID: usize = 4;
/// Number of keys per shard when the store is full, until there are [`MAX_SHARDS`].
const KEYS_PER_SHARD: usize = 1024;
/// Maximum number of shards. A power of two, large enough that the chance of a collision among ten
/// million keys is below one in a billion: the fingerprint has 64 bits, and the shard another 12.
const MAX_SHARDS: usize = 4096;

/// The error of a store with `max_keys` 0, which could count nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuildError;

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("max_keys is 0; expected 1 or more")
    }
}

impl std::error::Error for BuildError {}

/// Builds a [`MemoryStore`].
#[derive(Debug, Clone)]
#[must_use]
pub struct MemoryStoreBuilder {
    max_keys: usize,
    when_full: WhenFull,
    clock: Option<Clock>,
    slack: Span,
}

impl Default for MemoryStoreBuilder {
    fn default() -> MemoryStoreBuilder {
        MemoryStoreBuilder {
            max_keys: DEFAULT_MAX_KEYS.get(),
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

    /// Sets what happens to new keys when the store is full and none of its states has reset.
    /// Default: [`WhenFull::Deny`].
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
    /// Fails if `max_keys` is 0.
    pub fn build(self) -> Result<Arc<MemoryStore>, BuildError> {
        let max_keys = self.checked_max_keys()?;
        Ok(Arc::new(self.build_with(max_keys, Secret::random(), MAX_SHARDS)))
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
    /// Fails if `max_keys` is 0.
    pub fn restore(
        self,
        path: impl AsRef<Path>,
    ) -> Result<(Arc<MemoryStore>, Result<usize, SnapshotError>), BuildError> {
        match snapshot::read(path.as_ref()) {
            Ok(snapshot) => {
                let max_keys = self.checked_max_keys()?;
                let store = self.build_with(max_keys, snapshot.secret(), snapshot.shards());
                let restored = store.fill_from(snapshot);
                Ok((Arc::new(store), Ok(restored)))
            }
            Err(error) => Ok((self.build()?, Err(error))),
        }
    }

    fn checked_max_keys(&self) -> Result<NonZeroUsize, BuildError> {
        NonZeroUsize::new(self.max_keys).ok_or(BuildError)
    }

    fn build_with(self, max_keys: NonZeroUsize, secret: Secret, max_shards: usize) -> MemoryStore {
        let max_keys = max_keys.get();
        let max_shards = max_shards.min(MAX_SHARDS);
        let shards = max_keys.div_ceil(KEYS_PER_SHARD).min(max_shards).next_power_of_two();
        let clock = self.clock.unwrap_or_default();
        let layout =
            Layout { terms: TermsList::new(), origin: origin(clock.now()), slack: self.slack };
        MemoryStore {
            number: StoreNumber::next(),
            secret,
            layout,
            shards: (0..shards).map(|_| AlignedShard(Lock::new(Shard::default()))).collect(),
            budget: KeyBudget::new(max_keys),
            ids: RememberedIds::new(max_keys / KEYS_PER_ID),
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
        MemoryStoreBuilder::default().build_with(DEFAULT_MAX_KEYS, Secret::random(), MAX_SHARDS)
    }
}

/// Returns the time that states of one word count from: a day before the start, for callers that
/// pass their own times.
fn origin(now: Time) -> Time {
    const DAY: u64 = 86_400_000_000;
    Time::from_micros(now.as_micros().saturating_sub(DAY)).unwrap_or(Time::EPOCH)
}
