//! How many keys there are, and what happens when there can be no more.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tollgate_core::Time;

/// What a store answers to a new key when it is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum WhenFull {
    /// Turned away: nobody gets by without being counted.
    #[default]
    Deny,
    /// Let through without being counted.
    Allow,
}

/// How long nobody looks for room after someone has looked in some shards, in microseconds. A flood
/// of new keys must not buy itself the processor with looking.
const PAUSE: u64 = 1_000;
/// The same when all shards were looked at and it is known when the first key resets: a refund may
/// bring that forward.
const MAX_QUIET: u64 = 1_000_000;

/// A count that never passes its bound.
pub(super) struct KeyBudget {
    count: AtomicUsize,
    most: usize,
    /// Until when there is no use in looking for room, in microseconds.
    quiet_until: AtomicU64,
    /// Which shard is looked through next for room.
    next_shard: AtomicUsize,
    /// How many operations found the store full.
    rejected: AtomicU64,
}

impl KeyBudget {
    pub(super) fn new(most: usize) -> KeyBudget {
        KeyBudget {
            count: AtomicUsize::new(0),
            most,
            quiet_until: AtomicU64::new(0),
            next_shard: AtomicUsize::new(0),
            rejected: AtomicU64::new(0),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// Counts so many more, unless that would pass the bound.
    pub(super) fn add(&self, more: usize) -> bool {
        let within = |count: usize| count.checked_add(more).filter(|count| *count <= self.most);
        more == 0 || self.count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within).is_ok()
    }

    pub(super) fn remove(&self, fewer: usize) {
        // Nearly always there is nothing to be taken off, and every processor wants this number.
        if fewer > 0 {
            self.count.fetch_sub(fewer, Ordering::Relaxed);
        }
    }

    pub(super) fn count_rejection(&self) {
        self.rejected.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn rejected(&self) -> u64 {
        self.rejected.load(Ordering::Relaxed)
    }

    pub(super) fn is_quiet(&self, now: Time) -> bool {
        // Never far ahead: it would be of a time before the clock was set back.
        let ahead = self.quiet_until.load(Ordering::Relaxed).checked_sub(now.as_micros());
        ahead.is_some_and(|ahead| ahead > 0 && ahead <= MAX_QUIET)
    }

    /// Nothing was found that has reset: until `first` if that is known, else for a while.
    pub(super) fn be_quiet(&self, now: Time, first: Option<Time>) {
        let now = now.as_micros();
        let until = first.map_or(now.saturating_add(PAUSE), Time::as_micros);
        let until = until.min(now.saturating_add(MAX_QUIET));
        self.quiet_until.store(until, Ordering::Relaxed);
    }

    pub(super) fn next_shard(&self) -> usize {
        self.next_shard.load(Ordering::Relaxed)
    }

    pub(super) fn look_next_from(&self, shard: usize) {
        self.next_shard.store(shard, Ordering::Relaxed);
    }
}
