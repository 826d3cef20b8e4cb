//! How much there may be of something, in all and of each policy: remembered ids, and bytes of lists.

use std::sync::atomic::{AtomicUsize, Ordering};

use tollgate_core::Name;

use crate::hash::index_in;

/// A policy may have as much as this times the room that is left. So one policy alone gets three
/// quarters of it all, two together six sevenths, and there is always room for another one.
const TIMES_ROOM: usize = 3;

/// Which share something counts in.
pub(super) type ShareNumber = u16;

/// Counters of records or bytes.
pub(super) struct Shares {
    total: AtomicUsize,
    max: usize,
    by_policy: Box<[AtomicUsize]>,
}

impl Shares {
    /// Number of shares. A power of two. Policies whose names have the same digest here share one.
    pub(super) const COUNT: usize = 256;
    /// The number of no share: what counts in it counts only in the total.
    pub(super) const NONE: ShareNumber = ShareNumber::MAX;

    pub(super) fn new(max: usize) -> Shares {
        let by_policy = (0..Shares::COUNT).map(|_| AtomicUsize::new(0)).collect();
        Shares { total: AtomicUsize::new(0), max, by_policy }
    }

    /// Returns the share of a policy.
    #[inline]
    pub(super) fn of(policy: &Name) -> ShareNumber {
        u16::try_from(index_in(Shares::COUNT, policy.digest())).unwrap_or_default()
    }

    /// Returns whether there is room for so much more, of whatever policy.
    pub(super) fn fits(&self, more: usize) -> bool {
        more == 0 || self.total().saturating_add(more) <= self.max
    }

    /// Returns whether a policy may have so much more.
    pub(super) fn has_room(&self, share: ShareNumber, more: usize) -> bool {
        more == 0 || self.is_within(self.count_of(share), self.total(), more)
    }

    fn is_within(&self, own: usize, total: usize, more: usize) -> bool {
        let left = self.max.checked_sub(total).and_then(|room| room.checked_sub(more));
        left.is_some_and(|left| own.saturating_add(more) <= left.saturating_mul(TIMES_ROOM))
    }

    /// Counts another record and returns true, unless the share is used up.
    pub(super) fn try_add(&self, share: ShareNumber) -> bool {
        let own = self.count_of(share);
        let more = |total: usize| self.is_within(own, total, 1).then(|| total.saturating_add(1));
        let added = self.total.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok();
        if added {
            self.count_in(share, 1);
        }
        added
    }

    /// Counts another record, whether there is room or not.
    pub(super) fn add(&self, share: ShareNumber) {
        self.count(share, 1);
    }

    /// Counts one record less.
    pub(super) fn remove(&self, share: ShareNumber) {
        self.count(share, 1_usize.wrapping_neg());
    }

    /// Counts a difference, which wraps around if it is negative.
    pub(super) fn count(&self, share: ShareNumber, change: usize) {
        // Nearly always zero, and the counters are contended by all cores.
        if change != 0 {
            self.total.fetch_add(change, Ordering::Relaxed);
            self.count_in(share, change);
        }
    }

    /// Counts a difference that the total has already.
    fn count_in(&self, share: ShareNumber, change: usize) {
        if let Some(own) = self.by_policy.get(usize::from(share)) {
            own.fetch_add(change, Ordering::Relaxed);
        }
    }

    /// Returns whether a share has no records.
    pub(super) fn is_empty(&self, share: ShareNumber) -> bool {
        self.count_of(share) == 0
    }

    /// Returns how much counts in a share.
    pub(super) fn count_of(&self, share: ShareNumber) -> usize {
        let own = self.by_policy.get(usize::from(share));
        own.map_or(0, |own| own.load(Ordering::Relaxed))
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
