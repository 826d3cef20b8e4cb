//! Counts the changes of keys that pass through this process, so that what was known of a key before a
//! change is not used after it.

use std::sync::atomic::{AtomicU32, Ordering};

use super::hash::{OpKey, index_in};

/// Number of counters. Subjects that share one make each other's entries invalid, which costs a call.
const COUNTERS: usize = 4_096;

/// A counter for each subject; some share one.
pub(super) struct Versions(Box<[AtomicU32]>);

impl Default for Versions {
    fn default() -> Versions {
        Versions((0..COUNTERS).map(|_| AtomicU32::new(0)).collect())
    }
}

impl Versions {
    /// Returns a number that differs after any of the key's subjects has changed.
    pub(super) fn of(&self, key: &OpKey) -> u32 {
        let counters = self.counters(key).map(|counter| counter.load(Ordering::Acquire));
        counters.fold(0, u32::wrapping_add)
    }

    /// Notes that the states of the key's subjects may have changed.
    pub(super) fn bump(&self, key: &OpKey) {
        for counter in self.counters(key) {
            counter.fetch_add(1, Ordering::AcqRel);
        }
    }

    fn counters(&self, key: &OpKey) -> impl Iterator<Item = &AtomicU32> {
        let index = |subject: &u128| self.0.get(index_in(COUNTERS, *subject >> 64));
        key.subjects.iter().filter_map(index)
    }
}
