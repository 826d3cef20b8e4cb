//! Describing a store before it is made.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use tollgate_core::{Span, Time};

use super::hash::Secret;
use super::ids::Ids;
use super::key_budget::{KeyBudget, WhenFull};
use super::lock::Lock;
use super::record::Layout;
use super::shard::Shard;
use super::snapshot::{self, SnapshotError};
use super::terms::TermsList;
use super::thread_cache::StoreNumber;
use super::{MemoryStore, ShardSlot};
use crate::clock::Clock;

/// How many keys a store holds if nothing is said.
const DEFAULT_MAX_KEYS: NonZeroUsize = NonZeroUsize::new(10_000_000).unwrap();
/// How long a state is kept past its reset if nothing is said.
const DEFAULT_SLACK: Span = Span::from_micros(1_000_000);
/// How many keys share a shard when the store is full, until there are [`MAX_SHARDS`].
const KEYS_PER_SHARD: usize = 1024;
/// A power of two. As many as this keep the chance that two of ten million keys meet below one in a
/// billion: the fingerprint has 64 bits, and the shard tells another 12.
const MAX_SHARDS: usize = 4096;

/// A bound of zero keys, under which nothing could be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuildError;

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("max_keys is 0, so that no key could be counted; expected 1 or more")
    }
}

impl std::error::Error for BuildError {}

/// Describes a [`MemoryStore`].
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
    /// The most states that are kept at once, one for each limit of each key: ten million if not
    /// said. A key of a gcra limit takes 20 to 45 bytes.
    pub fn max_keys(mut self, most: usize) -> MemoryStoreBuilder {
        self.max_keys = most;
        self
    }

    /// What new keys are answered when so many keys are in use and none of them has reset:
    /// [`WhenFull::Deny`] if not said.
    pub fn when_full(mut self, answer: WhenFull) -> MemoryStoreBuilder {
        self.when_full = answer;
        self
    }

    /// Where the time comes from: [`Clock::system`] if not said.
    pub fn clock(mut self, clock: Clock) -> MemoryStoreBuilder {
        self.clock = Some(clock);
        self
    }

    /// How long a state is kept past its reset, and an id past its minute, if there is room: a second
    /// if not said. Whoever comes back within it is found faster, and a clock that steps back by less
    /// mints no credit.
    pub fn slack(mut self, slack: Span) -> MemoryStoreBuilder {
        self.slack = slack;
        self
    }

    /// Makes the store.
    ///
    /// # Errors
    /// If it could hold no key at all.
    pub fn build(self) -> Result<Arc<MemoryStore>, BuildError> {
        let most = self.most()?;
        Ok(Arc::new(self.build_with(most, Secret::random(), MAX_SHARDS)))
    }

    /// Makes the store and fills it from a [snapshot](MemoryStore::save), so that a restart hands
    /// nobody a fresh burst. Also answers how many states were restored, as far as there was room and
    /// they had not reset, or why there are none: then the store starts empty.
    ///
    /// The store has no more shards than the one that was saved, since only that much is known of
    /// where its keys belong. If you raise `max_keys` a lot, start once without a snapshot.
    ///
    /// # Errors
    /// If it could hold no key at all.
    pub fn restore(
        self,
        path: impl AsRef<Path>,
    ) -> Result<(Arc<MemoryStore>, Result<usize, SnapshotError>), BuildError> {
        match snapshot::read(path.as_ref()) {
            Ok(snapshot) => {
                let most = self.most()?;
                let store = self.build_with(most, snapshot.secret(), snapshot.shards());
                let restored = store.fill_from(snapshot);
                Ok((Arc::new(store), Ok(restored)))
            }
            Err(error) => Ok((self.build()?, Err(error))),
        }
    }

    fn most(&self) -> Result<NonZeroUsize, BuildError> {
        NonZeroUsize::new(self.max_keys).ok_or(BuildError)
    }

    /// With no more shards than that.
    fn build_with(self, most: NonZeroUsize, secret: Secret, most_shards: usize) -> MemoryStore {
        let most = most.get();
        let most_shards = most_shards.min(MAX_SHARDS);
        let shards = most.div_ceil(KEYS_PER_SHARD).min(most_shards).next_power_of_two();
        let clock = self.clock.unwrap_or_default();
        let layout =
            Layout { terms: TermsList::new(), origin: origin(clock.now()), slack: self.slack };
        MemoryStore {
            number: StoreNumber::next(),
            secret,
            layout,
            shards: (0..shards).map(|_| ShardSlot(Lock::new(Shard::default()))).collect(),
            budget: KeyBudget::new(most),
            ids: Ids::new(most),
            when_full: self.when_full,
            clock,
            #[cfg(feature = "wait")]
            queues: crate::queues::Queues::default(),
        }
    }
}

impl Default for MemoryStore {
    /// A store of ten million keys on the system's clock.
    fn default() -> MemoryStore {
        MemoryStoreBuilder::default().build_with(DEFAULT_MAX_KEYS, Secret::random(), MAX_SHARDS)
    }
}

/// States of one word count from a day before the start, for whoever passes times of their own.
fn origin(now: Time) -> Time {
    const DAY: u64 = 86_400_000_000;
    Time::from_micros(now.as_micros().saturating_sub(DAY)).unwrap_or(Time::EPOCH)
}
