//! The memory of a state beside itself: slots, leases and open reservations lie in lists of their own.

use std::collections::VecDeque;

use crate::act::Act;

/// Minimum number of elements that a list has room for once it has any.
pub(super) const MIN_ROOM: usize = 4;
/// What the allocator takes for a list beside its elements: a header of 8 bytes, and the rounding to 16, as with glibc.
const OVERHEAD: usize = 16;
/// A list with room for more than this times its elements gives most of it back.
const MAX_SPARE: usize = 4;

/// Bytes of the lists of a state, by what they keep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Slots.
    pub slots: usize,
    /// Leases.
    pub leases: usize,
    /// Open reservations.
    pub reservations: usize,
}

impl Footprint {
    /// Returns the sum. It wraps around, so that differences can be added in any order.
    #[must_use]
    pub fn plus(self, other: Footprint) -> Footprint {
        self.with(other, usize::wrapping_add)
    }

    /// Returns the difference, which wraps around.
    #[must_use]
    pub fn minus(self, other: Footprint) -> Footprint {
        self.with(other, usize::wrapping_sub)
    }

    /// Returns how much larger it is than before, and zero for what is not.
    #[must_use]
    pub fn growth_since(self, before: Footprint) -> Footprint {
        self.with(before, usize::saturating_sub)
    }

    fn with(self, other: Footprint, combine: fn(usize, usize) -> usize) -> Footprint {
        Footprint {
            slots: combine(self.slots, other.slots),
            leases: combine(self.leases, other.leases),
            reservations: combine(self.reservations, other.reservations),
        }
    }

    /// Returns the sum of all kinds.
    #[must_use]
    pub fn total(self) -> usize {
        self.slots.wrapping_add(self.leases).wrapping_add(self.reservations)
    }

    /// Returns the part of it that such an operation can make larger.
    pub(super) fn that_grows_by(self, act: Act) -> Footprint {
        match act {
            Act::Reserve => self,
            // A peek returns what a check would.
            Act::Check | Act::Peek | Act::Charge | Act::Settle => {
                Footprint { reservations: 0, ..self }
            }
            Act::Refund | Act::Reset | Act::Release | Act::Renew => Footprint::default(),
        }
    }
}

/// The size of a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListSize {
    len: usize,
    capacity: usize,
    element_bytes: usize,
}

impl ListSize {
    /// The size of a list of `T` that does not exist yet.
    pub(super) fn of_none<T>() -> ListSize {
        ListSize { len: 0, capacity: 0, element_bytes: size_of::<T>() }
    }

    pub(super) fn of_vec<T>(list: &Vec<T>) -> ListSize {
        ListSize { len: list.len(), capacity: list.capacity(), element_bytes: size_of::<T>() }
    }

    pub(super) fn of_deque<T>(list: &VecDeque<T>) -> ListSize {
        ListSize { len: list.len(), capacity: list.capacity(), element_bytes: size_of::<T>() }
    }

    pub(super) fn bytes(self) -> usize {
        let elements = self.capacity.saturating_mul(self.element_bytes);
        if elements == 0 { 0 } else { elements.saturating_add(OVERHEAD) }
    }

    /// Returns how many bytes more it may take to hold another element.
    pub(super) fn max_growth(self) -> usize {
        if self.len < self.capacity {
            return 0;
        }
        let doubled = ListSize { capacity: self.capacity.saturating_mul(2).max(MIN_ROOM), ..self };
        doubled.bytes().saturating_sub(self.bytes())
    }

    /// Returns the capacity to shrink to, if there is far more.
    pub(super) fn shrunk(self) -> Option<usize> {
        let wanted = self.len.max(MIN_ROOM);
        (self.capacity > wanted.saturating_mul(MAX_SPARE)).then(|| wanted.saturating_mul(2))
    }
}
