//! The number of states in a store, its bound, and when a scan for states that have reset is
//! worthwhile.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::pause::Pause;

/// A counter of states that never exceeds its bound.
pub(crate) struct KeyBudget {
    count: AtomicUsize,
    max_keys: usize,
    /// No scan for reset states is made meanwhile.
    pub(crate) pause: Pause,
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
            pause: Pause::default(),
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

    /// Returns whether there is room for so many more.
    pub(crate) fn has_room(&self, more: usize) -> bool {
        more == 0 || self.count().saturating_add(more) <= self.max_keys
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

    pub(crate) fn next_shard(&self) -> usize {
        self.next_shard.load(Ordering::Relaxed)
    }

    pub(crate) fn set_next_shard(&self, index: usize) {
        self.next_shard.store(index, Ordering::Relaxed);
    }
}
