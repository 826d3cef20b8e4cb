//! The bound on the memory of all layers together.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Default bound on the memory of all layers of a store together, in bytes.
pub const DEFAULT_LAYER_MEMORY: usize = 64 << 20;

/// Returns the part of the bound that is kept for what is counted while the store is unavailable: a quarter. The
/// tables, which are in use at any time, have the rest.
pub(super) fn for_outages(max_memory: usize) -> usize {
    max_memory / 4
}

/// The bytes that the tables of all layers of one store may take.
#[derive(Debug)]
pub(crate) struct Budget {
    max: usize,
    used: AtomicUsize,
}

impl Budget {
    pub(super) fn new(max: usize) -> Budget {
        Budget { max, used: AtomicUsize::new(0) }
    }

    /// Returns how many bytes are in use.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Takes some bytes, if there are as many left.
    pub(super) fn take(&self, bytes: usize) -> bool {
        let take = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= self.max);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    pub(super) fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}
