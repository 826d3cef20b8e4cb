//! The record of one remembered operation.

use tollgate_core::storage::{CompactDecision, Handle};
use tollgate_core::{Act, Time};

use crate::hash::Scope;

/// What a record is found by: a keyed hash of the policy, the subjects, the id and the act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IdKey([u64; 2]);

/// Number of low bits of the second word that say what the record is of.
const ACT_BITS: u32 = 4;
/// The value of these bits in a record of a reset, which forgets the ids of its subjects.
const RESET_MARK: u64 = (1 << ACT_BITS) - 1;

impl IdKey {
    /// Returns the key for an operation with this handle, which covers the policy, the subjects and the id.
    #[inline]
    pub(super) fn new(handle: Handle, act: Act) -> IdKey {
        IdKey(handle.to_words()).with_kind(act as u64)
    }

    /// Returns the key of what a reset leaves behind.
    pub(super) fn of_reset(scope: Scope) -> IdKey {
        IdKey(scope.to_words()).with_kind(RESET_MARK)
    }

    fn with_kind(self, kind: u64) -> IdKey {
        let IdKey([first, second]) = self;
        IdKey([first, second >> ACT_BITS << ACT_BITS | kind])
    }

    /// Returns a number that selects the segment: the same for all acts of one id.
    pub(super) fn segment(self) -> u64 {
        self.0[0]
    }

    /// Returns a number that selects the place in the index: the same for all acts of one id, and never zero. Other
    /// bits than those that select the segment.
    #[inline]
    pub(super) fn place(self) -> u32 {
        ((self.0[0] >> 32) as u32).max(1)
    }

    /// Returns whether both are keys of the same id.
    pub(super) fn is_of_same_id(self, other: IdKey) -> bool {
        self.with_kind(0) == other.with_kind(0)
    }
}

/// A record. All of them are equally large, whatever the id and the keys.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record {
    pub(super) key: IdKey,
    pub(super) expires: Time,
    /// The decision; `None` in the record of a reset.
    pub(super) decision: Option<CompactDecision>,
    /// How many resets there had been.
    pub(super) resets: u32,
    /// Which share it counts in.
    pub(super) share: u16,
}

impl Record {
    /// Returns whether it was made before a reset, of which this is the record. Numbers wrap around, but not within
    /// the lifetime of a record.
    pub(super) fn is_before(&self, reset: &Record) -> bool {
        let distance = reset.resets.wrapping_sub(self.resets);
        distance != 0 && distance < 1 << 31
    }
}

/// A place for a record.
#[derive(Debug)]
pub(super) enum Slot {
    Used(Record),
    /// With the index of the next free slot.
    Free(u32),
}
