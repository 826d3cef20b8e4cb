//! The bytes that a store keeps, and their bound. Each kind has a part of its own, so that a flood of one
//! leaves the others their room; and of the lists of its states no policy can take so much that another one gets none.

use tollgate_core::storage::Footprint;

use super::pause::Pause;
use crate::memory::shares::{ShareNumber, Shares};
use crate::memory::stats::MemoryShare;

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

/// How many bytes more an operation may take.
#[derive(Clone, Copy, Default)]
pub(crate) struct Growth {
    /// For places in tables.
    pub(crate) tables: usize,
    /// For the lists of states.
    pub(crate) lists: Footprint,
}

impl From<Footprint> for Growth {
    fn from(lists: Footprint) -> Growth {
        Growth { tables: 0, lists }
    }
}

impl Growth {
    /// Returns the sum.
    pub(crate) fn plus(self, other: Growth) -> Growth {
        let tables = self.tables.saturating_add(other.tables);
        Growth { tables, lists: self.lists.plus(other.lists) }
    }

    fn states(self) -> usize {
        self.tables.saturating_add(self.lists.slots)
    }
}

/// Counters of bytes, each with its bound.
///
/// An operation looks whether there is room, and counts afterwards what it took: so operations that run at the same
/// time may together exceed a bound, each by the growth of one key.
pub(crate) struct MemoryBudget {
    /// Tables and slots. Only slots count in the share of a policy.
    states: Shares,
    /// Leases, and the places of states with several of them, so that a flood of new keys leaves a holder of leases its
    /// room. Only the leases count in the share of a policy.
    leases: Shares,
    reservations: Shares,
    /// For each share: no scan for states that have reset is made for it meanwhile.
    pauses: Box<[Pause]>,
}

impl MemoryBudget {
    pub(crate) fn new(max_memory: usize) -> MemoryBudget {
        MemoryBudget {
            states: Shares::new(for_states(max_memory)),
            leases: Shares::new(max_memory / LEASES),
            reservations: Shares::new(max_memory / RESERVATIONS),
            pauses: (0..Shares::COUNT).map(|_| Pause::default()).collect(),
        }
    }

    /// Counts a change of the memory of tables, which wraps around if it is negative.
    pub(crate) fn count_tables(&self, change: usize) {
        self.states.count(Shares::NONE, change);
    }

    /// Counts a change of the lists of states: their footprint after it minus the one before.
    pub(crate) fn count_lists(&self, share: ShareNumber, change: Footprint) {
        self.states.count(share, change.slots);
        self.leases.count(share, change.leases);
        self.reservations.count(share, change.reservations);
    }

    /// Counts lists in another share than before.
    pub(crate) fn move_lists(&self, from: ShareNumber, to: ShareNumber, lists: Footprint) {
        self.count_lists(to, lists);
        self.count_lists(from, Footprint::default().minus(lists));
    }

    /// Returns whether there is room for so many bytes more of lists of a policy.
    pub(crate) fn has_room_for_lists(&self, share: ShareNumber, lists: Footprint) -> bool {
        self.states.has_room(share, lists.slots)
            && self.leases.has_room(share, lists.leases)
            && self.reservations.has_room(share, lists.reservations)
    }

    /// Returns whether there is room for so many bytes more of a policy.
    pub(crate) fn has_room(&self, share: ShareNumber, growth: Growth) -> bool {
        self.fits(growth) && self.has_room_for_lists(share, growth.lists)
    }

    /// Returns whether there is room for so many bytes more, whatever policy they belong to.
    pub(crate) fn fits(&self, growth: Growth) -> bool {
        self.states.fits(growth.states())
            && self.leases.fits(growth.lists.leases)
            && self.reservations.fits(growth.lists.reservations)
    }

    /// Returns the pause of what has no room in its share.
    pub(crate) fn pause(&self, share: ShareNumber) -> Option<&Pause> {
        self.pauses.get(usize::from(share))
    }

    pub(crate) fn states(&self) -> MemoryShare {
        stats(&self.states)
    }

    pub(crate) fn leases(&self) -> MemoryShare {
        stats(&self.leases)
    }

    pub(crate) fn reservations(&self) -> MemoryShare {
        stats(&self.reservations)
    }
}

fn stats(bytes: &Shares) -> MemoryShare {
    MemoryShare { bytes: bytes.total(), max: bytes.max() }
}

#[cfg(test)]
impl MemoryBudget {
    /// Asserts that the counters are what was found.
    pub(crate) fn assert_are(
        &self,
        tables: usize,
        lists: &std::collections::BTreeMap<ShareNumber, Footprint>,
    ) {
        let total = lists.values().fold(Footprint::default(), |sum, lists| sum.plus(*lists));
        let counted = [&self.states, &self.leases, &self.reservations].map(Shares::total);
        assert_eq!(counted, [tables.wrapping_add(total.slots), total.leases, total.reservations]);
        for share in 0..256 {
            let own = lists.get(&share).copied().unwrap_or_default();
            let counted =
                [&self.states, &self.leases, &self.reservations].map(|bytes| bytes.count_of(share));
            assert_eq!(counted, [own.slots, own.leases, own.reservations], "share {share}");
        }
    }
}
