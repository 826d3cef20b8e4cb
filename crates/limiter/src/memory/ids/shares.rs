//! How many records there may be, in all and of each policy.

use std::sync::atomic::{AtomicUsize, Ordering};

use tollgate_core::Name;

use crate::hash::index_in;

/// Number of shares. A power of two. Policies whose names have the same digest here share one.
const SHARES: usize = 256;
/// A policy may have as many records as this times the room that is left. So one policy alone gets three
/// quarters of it all, two together six sevenths, and there is always room for another one.
const TIMES_ROOM: usize = 3;

/// Counters of records.
pub(super) struct Shares {
    total: AtomicUsize,
    max: usize,
    by_policy: Box<[AtomicUsize]>,
}

impl Shares {
    pub(super) fn new(max: usize) -> Shares {
        let by_policy = (0..SHARES).map(|_| AtomicUsize::new(0)).collect();
        Shares { total: AtomicUsize::new(0), max, by_policy }
    }

    /// Returns the share of a policy.
    pub(super) fn of(policy: &Name) -> u16 {
        u16::try_from(index_in(SHARES, policy.digest())).unwrap_or_default()
    }

    /// Counts another record and returns true, unless the share is used up.
    pub(super) fn try_add(&self, share: u16) -> bool {
        let Some(count) = self.by_policy.get(usize::from(share)) else { return false };
        let own = count.load(Ordering::Relaxed);
        let has_room =
            |total: usize| own < self.max.saturating_sub(total).saturating_mul(TIMES_ROOM);
        let more = |total: usize| has_room(total).then(|| total.saturating_add(1));
        let added = self.total.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok();
        if added {
            count.fetch_add(1, Ordering::Relaxed);
        }
        added
    }

    /// Counts another record, whether there is room or not.
    pub(super) fn add(&self, share: u16) {
        if let Some(count) = self.by_policy.get(usize::from(share)) {
            count.fetch_add(1, Ordering::Relaxed);
            self.total.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts one record less.
    pub(super) fn remove(&self, share: u16) {
        if let Some(count) = self.by_policy.get(usize::from(share)) {
            count.fetch_sub(1, Ordering::Relaxed);
            self.total.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Returns whether a share has no records.
    pub(super) fn is_empty(&self, share: u16) -> bool {
        let count = self.by_policy.get(usize::from(share));
        count.is_none_or(|count| count.load(Ordering::Relaxed) == 0)
    }

    pub(super) fn total(&self) -> usize {
        self.total.load(Ordering::Relaxed)
    }

    pub(super) fn max(&self) -> usize {
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_policy_never_takes_the_room_of_another() {
        let shares = Shares::new(1000);
        let taken = |share| (0..2000).filter(|_| shares.try_add(share)).count();
        assert_eq!(taken(1), 750);
        let other = taken(2);
        assert!((150..=250).contains(&other), "{other}");
        assert!(shares.try_add(3) && shares.total() <= 1000);
        (0..750).for_each(|_| shares.remove(1));
        assert!(shares.is_empty(1) && taken(1) > 500);
    }
}
