//! The bytes that a store keeps, and their bound. Each kind has a share of its own, so that a flood of one
//! leaves the others their room.

use std::sync::atomic::{AtomicUsize, Ordering};

use tollgate_core::storage::Footprint;

use crate::memory::store::MemoryShare;

/// States may take this part of the memory, ids half as much, and leases and open reservations a quarter as much each.
const STATES: usize = 2;
const IDS: usize = 4;
const LEASES: usize = 8;
const RESERVATIONS: usize = 8;

/// Returns the share of remembered ids, in bytes.
pub(crate) fn for_ids(max_memory: usize) -> usize {
    max_memory / IDS
}

/// Returns the share of states, in bytes.
pub(crate) fn for_states(max_memory: usize) -> usize {
    max_memory / STATES
}

/// Counters of bytes, each with its bound.
///
/// An operation looks whether there is room, and counts afterwards what it took: so operations that run at the same
/// time may together exceed a bound, each by the growth of one key.
pub(crate) struct MemoryBudget {
    states: Share,
    leases: Share,
    reservations: Share,
}

struct Share {
    bytes: AtomicUsize,
    max: usize,
}

impl Share {
    fn new(max: usize) -> Share {
        Share { bytes: AtomicUsize::new(0), max }
    }

    /// Counts a difference, which wraps around if it is negative.
    fn add(&self, bytes: usize) {
        // Nearly always zero, and the counter is contended by all cores.
        if bytes != 0 {
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    fn has_room(&self, bytes: usize) -> bool {
        bytes == 0 || self.bytes.load(Ordering::Relaxed).saturating_add(bytes) <= self.max
    }

    fn stats(&self) -> MemoryShare {
        MemoryShare { bytes: self.bytes.load(Ordering::Relaxed), max: self.max }
    }
}

impl MemoryBudget {
    pub(crate) fn new(max_memory: usize) -> MemoryBudget {
        MemoryBudget {
            states: Share::new(for_states(max_memory)),
            leases: Share::new(max_memory / LEASES),
            reservations: Share::new(max_memory / RESERVATIONS),
        }
    }

    /// Counts a change: the footprint after it minus the one before.
    pub(crate) fn count(&self, change: Footprint) {
        self.states.add(change.states);
        self.leases.add(change.leases);
        self.reservations.add(change.reservations);
    }

    /// Counts a change of the memory of states, which wraps around if it is negative.
    pub(crate) fn count_states(&self, change: usize) {
        self.states.add(change);
    }

    /// Returns whether there is room for so many bytes more.
    pub(crate) fn has_room(&self, growth: Footprint) -> bool {
        self.states.has_room(growth.states)
            && self.leases.has_room(growth.leases)
            && self.reservations.has_room(growth.reservations)
    }

    pub(crate) fn states(&self) -> MemoryShare {
        self.states.stats()
    }

    pub(crate) fn leases(&self) -> MemoryShare {
        self.leases.stats()
    }

    pub(crate) fn reservations(&self) -> MemoryShare {
        self.reservations.stats()
    }
}
