//! Counters of the layers.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that only grows.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) fn add(&self, number: u64) {
        self.0.fetch_add(number, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What the layers of a store have done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct LayerStats {
    /// Number of denials answered without the store.
    pub denied_by_cache: u64,
    /// Number of checks that were sent together with another check of the same key.
    pub coalesced: u64,
    /// Number of store calls saved by sending several checks of a key together.
    pub calls_coalesced: u64,
    /// Number of checks decided by this process that were written to the store afterwards, or will be.
    pub decided_locally: u64,
    /// Number of checks admitted from quota that was taken ahead.
    pub decided_by_prefetch: u64,
    /// Cost that was admitted by this process and is not written to the store yet.
    pub unwritten: u64,
    /// Quota that was taken ahead and is not spent yet.
    pub prefetched: u64,
    /// Cost that this process has admitted beyond a limit, because it did not know better or spent quota that
    /// was taken in an earlier window.
    pub over_admitted: u64,
    /// Number of operations that were decided by the failure mode of their policy, or failed, because the
    /// store was unavailable.
    pub failures: u64,
    /// Number of keys with cost to charge to the store when it is back, because checks were allowed without it.
    pub uncharged_keys: usize,
    /// Number of checks that were allowed without the store and are never charged to it, because the memory of the
    /// layers was full; and of charges that got no reply for so long that they could be done twice.
    pub lost: u64,
    /// Number of checks that were sent to the store, got no reply and were then allowed. The store is not charged
    /// for them, since it may have counted them.
    pub unanswered: u64,
    /// Whether the breaker is open: the store is considered unavailable and gets only probes.
    pub is_open: bool,
    /// Number of processes that share the store, this one included.
    pub nodes: u32,
    /// Bytes of memory in use by all layers.
    pub memory: usize,
    /// Maximum bytes of memory of all layers.
    pub max_memory: usize,
}
