//! The number of states in a store, its bound, and when a scan for states that have reset is
//! worthwhile.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::quota::Quota;

/// The number of states of all policies, and where there may be some that have reset.
pub(crate) struct KeyBudget {
    pub(crate) keys: Quota,
    /// Index of the shard where the next scan starts.
    next_shard: AtomicUsize,
    /// Number of operations that found the store full.
    rejected: AtomicU64,
}

impl KeyBudget {
    pub(crate) fn new(max_keys: usize) -> KeyBudget {
        KeyBudget {
            keys: Quota::new(max_keys),
            next_shard: AtomicUsize::new(0),
            rejected: AtomicU64::new(0),
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
