//! What is counted for those who watch: each loop counts on its own, and they are added up when
//! somebody looks.

use std::sync::atomic::{AtomicU64, Ordering};

/// Number of config reloads.
#[derive(Debug, Default)]
pub(crate) struct Reloads {
    pub(crate) success: AtomicU64,
    pub(crate) failure: AtomicU64,
}

/// What became of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It may pass.
    Allowed,
    /// It may not.
    Denied,
    /// It may, only because the policy is not enforced.
    ShadowDenied,
    /// The store gave no decision.
    Failed,
    /// The candidate would turn away what the policy lets pass.
    Stricter,
    /// The candidate would let pass what the policy turns away.
    Looser,
}

const OUTCOMES: usize = 6;

/// What became of the operations of one policy, for each loop.
#[derive(Debug)]
pub(crate) struct Counts(Box<[Count]>);

/// Those of one loop. They have a line of memory to themselves: no other loop writes there.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Count([AtomicU64; OUTCOMES]);

impl Counts {
    pub(crate) fn new(threads: usize) -> Counts {
        Counts((0..threads).map(|_| Count::default()).collect())
    }

    /// One more, seen by this loop. Answers how many it has seen.
    #[inline]
    pub(crate) fn add(&self, worker_id: usize, outcome: Outcome) -> u64 {
        let count = self.0.get(worker_id).and_then(|count| count.0.get(outcome as usize));
        count.map_or(0, |count| raise(count, 1))
    }

    /// How many all threads have seen.
    pub(crate) fn sum(&self, outcome: Outcome) -> u64 {
        let each = self.0.iter().filter_map(|count| count.0.get(outcome as usize));
        each.map(|count| count.load(Ordering::Relaxed)).fold(0, u64::wrapping_add)
    }
}

/// Adds to a number that only this thread writes, so that nothing has to be locked. Answers what it is
/// then.
#[inline]
pub(super) fn raise(number: &AtomicU64, by: u64) -> u64 {
    let sum = number.load(Ordering::Relaxed).wrapping_add(by);
    number.store(sum, Ordering::Relaxed);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_count_on_their_own_and_are_added_up() {
        let counts = Counts::new(2);
        counts.add(0, Outcome::Allowed);
        counts.add(1, Outcome::Allowed);
        counts.add(1, Outcome::Denied);
        counts.add(2, Outcome::Denied);
        assert_eq!((counts.sum(Outcome::Allowed), counts.sum(Outcome::Denied)), (2, 1));
    }
}
