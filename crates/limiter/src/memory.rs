//! The memory store: states of all keys in this process, exact under any number of threads.
//!
//! Keys are spread over shards by a hash that is keyed with a secret, and a shard is ordinary code
//! under a lock. A check of one limit whose key is known locks its shard, changes a word or three,
//! and unlocks it; one that is denied again and again mostly does not even lock. Everything else, of
//! any number of limits, subjects and operations, locks the shards of all subjects, lends their states
//! to the core's `decide`, and puts them back.

mod batch;
mod builder;
mod check;
mod hash;
mod ids;
mod insert;
mod key_budget;
mod lock;
mod locked_shards;
mod prefetch;
mod record;
mod shard;
mod snapshot;
mod table;
mod terms;
mod thread_cache;

pub use builder::{BuildError, MemoryStoreBuilder};
pub use key_budget::WhenFull;
pub use snapshot::SnapshotError;

use std::fmt;
use std::num::NonZeroU32;

use tollgate_core::{Apply, Decision, Limit, Op, Store, StoreError, Time};

use crate::clock::Clock;
#[cfg(feature = "wait")]
use crate::queues::Queues;
pub(crate) use batch::BATCH;
pub(crate) use check::Asked;
use check::plain_check;
use hash::{Hash, Secret, place_in};
use ids::Ids;
use key_budget::KeyBudget;
use lock::Lock;
use record::Layout;
use shard::Shard;
use thread_cache::StoreNumber;

/// A store in the memory of this process.
///
/// # What it guarantees
///
/// * **Exact.** However many threads call at once, operations on one subject happen one after the
///   other, and the limits of a policy are charged together or not at all.
/// * **Bounded.** Never more than [`max_keys`](MemoryStoreBuilder::max_keys) states. When that many are in use,
///   those that have reset are dropped; if there are none, new keys are answered as
///   [`when_full`](MemoryStoreBuilder::when_full) says. A flood of new keys never refills an exhausted one.
/// * **Quiet.** No thread of its own. Keys that have reset are swept by the calls themselves, a few
///   for every new key.
/// * **Discreet.** Keys are not kept, only their hashes under a secret of this process. Two keys are
///   taken for one with a chance below one in a billion at ten million keys.
///
/// ```
/// use tollgate::{Limiter, MemoryStore, WhenFull};
///
/// let store = MemoryStore::builder().max_keys(100_000).when_full(WhenFull::Allow).build()?;
/// let login = Limiter::parse(["sliding-counters 5/min"])?.with_name("login")?.with_store(store.clone());
/// let search = Limiter::parse(["gcra 100/s burst 200"])?.with_name("search")?.with_store(store);
/// assert!(login.check("203.0.113.9")?.allowed);
/// assert!(search.check("203.0.113.9")?.allowed);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MemoryStore {
    /// Which of the stores of this process it is.
    number: StoreNumber,
    secret: Secret,
    layout: Layout,
    shards: Box<[ShardSlot]>,
    budget: KeyBudget,
    ids: Ids,
    when_full: WhenFull,
    clock: Clock,
    /// Who waits for their turn, through whatever limiter.
    #[cfg(feature = "wait")]
    queues: Queues,
}

/// A shard with a cache line of its own, and no more: what is needed of all shards stays near.
#[repr(align(64))]
struct ShardSlot(Lock<Shard>);

#[cfg(not(all(test, loom)))]
const _: () = assert!(size_of::<ShardSlot>() == 64, "one cache line");

/// How full a store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreStats {
    /// How many states are kept: one for each limit of each key, until it has reset and was swept.
    pub keys: usize,
    /// How many there can be.
    pub max_keys: usize,
    /// How many operations were answered by `when_full` so far.
    pub rejected: u64,
}

impl MemoryStore {
    /// A store to be described.
    pub fn builder() -> MemoryStoreBuilder {
        MemoryStoreBuilder::default()
    }

    /// How full it is.
    #[must_use]
    pub fn stats(&self) -> StoreStats {
        StoreStats {
            keys: self.budget.count(),
            max_keys: self.budget.most(),
            rejected: self.budget.rejected(),
        }
    }

    /// The clock it goes by.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    #[cfg(feature = "wait")]
    pub(crate) fn queues(&self) -> &Queues {
        &self.queues
    }

    /// Answers one operation, at `at` or else by the store's own clock.
    ///
    /// # Errors
    /// If the operation makes no sense, the debt would be too large, or what must be counted cannot
    /// be because the store is full.
    pub fn apply_one(&self, op: &Op<'_>, at: Option<Time>) -> Result<Decision, StoreError> {
        let now = at.unwrap_or_else(|| self.clock.now());
        let Some((asked, subject)) = plain_check(op) else { return self.answer_one(op, now) };
        if let Some(decision) = self.check_word(op.policy, subject, &asked, now) {
            return Ok(decision);
        }
        self.answer_one(op, now)
    }

    /// The number of the limit's terms, for checks to come.
    pub(crate) fn number_of(&self, limit: &Limit) -> Option<NonZeroU32> {
        self.layout.terms.number(&limit.terms()?).and_then(NonZeroU32::new)
    }

    /// Any operation.
    #[cold]
    #[inline(never)]
    pub(crate) fn answer_one(&self, op: &Op<'_>, now: Time) -> Result<Decision, StoreError> {
        if let Some(decision) = self.answer_first(op, now) {
            return Ok(decision);
        }
        let mut answer = Err(StoreError::unanswered());
        self.answer_batch(std::slice::from_ref(op), now, |_, given| answer = given);
        answer
    }

    /// Which shard.
    #[inline]
    fn place(&self, hash: Hash) -> usize {
        place_in(self.shards.len(), hash.shard)
    }

    #[inline]
    fn shard(&self, place: usize) -> Option<&Lock<Shard>> {
        self.shards.get(place).map(|line| &line.0)
    }
}

impl Store for MemoryStore {
    fn apply<'a>(
        &'a self,
        ops: &'a [Op<'a>],
        at: Option<Time>,
        out: &'a mut [Result<Decision, StoreError>],
    ) -> Apply<'a> {
        let now = at.unwrap_or_else(|| self.clock.now());
        if let ([op], [out]) = (ops, &mut *out) {
            *out = self.apply_one(op, Some(now));
            return Apply::Ready;
        }
        // Operations without a place for their answer are not done.
        let ops = ops.get(..out.len()).unwrap_or(ops);
        for (ops, out) in ops.chunks(BATCH).zip(out.chunks_mut(BATCH)) {
            self.answer_batch(ops, now, |number, given| {
                if let Some(answer) = out.get_mut(number) {
                    *answer = given;
                }
            });
        }
        Apply::Ready
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("stats", &self.stats()).finish_non_exhaustive()
    }
}
