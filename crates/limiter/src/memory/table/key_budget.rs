//! The number of states in a store, its bound, and when a scan for states that have reset is
//! worthwhile.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tollgate_core::Time;

/// Pause after a scan of some of the shards that freed nothing, in microseconds. Without it a flood
/// of new keys could spend all processor time on scans.
const PAUSE: u64 = 1_000;
/// Maximum pause after a scan of all shards, which knows when the first state resets, in
/// microseconds. It is bounded because a refund may make a state reset earlier.
const MAX_PAUSE: u64 = 1_000_000;

/// A counter of states that never exceeds its bound.
pub(crate) struct KeyBudget {
    count: AtomicUsize,
    max_keys: usize,
    /// Time until which no scan for reset states is made, in microseconds.
    paused_until: AtomicU64,
    /// Index of the shard where the next scan starts.
    next_shard: AtomicUsize,
    /// Number of operations that found the store full.
    rejected: AtomicU64,
}

impl KeyBudget {
    pub(crate) fn new(max_keys: usize) -> KeyBudget {
        KeyBudget {
            count: AtomicUsize::new(0),
            max_keys,
            paused_until: AtomicU64::new(0),
            next_shard: AtomicUsize::new(0),
            rejected: AtomicU64::new(0),
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    pub(crate) fn max_keys(&self) -> usize {
        self.max_keys
    }

    /// Adds to the count and returns true, unless that would exceed the bound.
    pub(crate) fn try_add(&self, more: usize) -> bool {
        let within = |count: usize| count.checked_add(more).filter(|count| *count <= self.max_keys);
        more == 0 || self.count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within).is_ok()
    }

    pub(crate) fn remove(&self, fewer: usize) {
        // Nearly always zero, and the counter is contended by all cores.
        if fewer > 0 {
            self.count.fetch_sub(fewer, Ordering::Relaxed);
        }
    }

    pub(crate) fn count_rejection(&self) {
        self.rejected.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn rejected(&self) -> u64 {
        self.rejected.load(Ordering::Relaxed)
    }

    /// Returns whether a scan would be futile.
    pub(crate) fn is_paused(&self, now: Time) -> bool {
        // A pause longer than the maximum was set before the clock stepped back.
        let ahead = self.paused_until.load(Ordering::Relaxed).checked_sub(now.as_micros());
        ahead.is_some_and(|ahead| ahead > 0 && ahead <= MAX_PAUSE)
    }

    /// Pauses scans after one that freed nothing: until the first state resets if that is known,
    /// otherwise for a fixed time.
    pub(crate) fn pause(&self, now: Time, first_expiry: Option<Time>) {
        let now = now.as_micros();
        let until = first_expiry.map_or(now.saturating_add(PAUSE), Time::as_micros);
        let until = until.min(now.saturating_add(MAX_PAUSE));
        self.paused_until.store(until, Ordering::Relaxed);
    }

    pub(crate) fn next_shard(&self) -> usize {
        self.next_shard.load(Ordering::Relaxed)
    }

    pub(crate) fn set_next_shard(&self, index: usize) {
        self.next_shard.store(index, Ordering::Relaxed);
    }
}
