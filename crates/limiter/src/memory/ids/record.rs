//! The record of one remembered operation.

use tollgate_core::storage::{CompactDecision, Handle};
use tollgate_core::{Act, Op, Time};

use super::MAX_BYTES_PER_ID;

/// What a record is found by: a keyed hash of the policy, the subjects, the id and the act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IdKey([u64; 2]);

/// Number of low bits of the second word that say what the record is of.
const ACT_BITS: u32 = 4;
/// The value of these bits in a record of a reset, which forgets the ids of its subjects.
const RESET_MARK: u64 = (1 << ACT_BITS) - 1;

impl IdKey {
    /// Returns the key for an operation like `op` with another act. The handle covers the id and the
    /// subjects.
    pub(super) fn new(op: &Op<'_>, handle: Handle, act: Act) -> IdKey {
        let number = Act::ALL.iter().position(|known| *known == act);
        let [first, second] = handle.to_words();
        IdKey([first ^ op.policy.digest(), second]).with_kind(number.unwrap_or_default() as u64)
    }

    /// Returns the key of what a reset leaves behind.
    pub(super) fn of_reset(scope: [u64; 2]) -> IdKey {
        IdKey(scope).with_kind(RESET_MARK)
    }

    fn with_kind(self, kind: u64) -> IdKey {
        let IdKey([first, second]) = self;
        IdKey([first, second >> ACT_BITS << ACT_BITS | kind])
    }

    /// Returns a number that selects the segment: the same for all acts of one id.
    pub(super) fn segment(self) -> u64 {
        self.0[0]
    }

    /// Returns a number that selects the place in the index: the same for all acts of one id. Other bits of it than
    /// those that select the segment.
    pub(super) fn place(self) -> u64 {
        self.0[0].rotate_left(32)
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
    /// The number of the record: later ones are greater.
    pub(super) number: u32,
    /// Which share it counts in.
    pub(super) share: u16,
}

impl Record {
    /// Returns whether it was made before another one. Numbers wrap around, but not within the lifetime
    /// of a record.
    pub(super) fn is_before(&self, other: &Record) -> bool {
        let distance = other.number.wrapping_sub(self.number);
        distance != 0 && distance < 1 << 31
    }
}

/// A place for a record.
#[derive(Debug, Clone, Copy)]
pub(super) enum Slot {
    Used(Record),
    /// With the index of the next free slot.
    Free(u32),
}

// The index takes 4 bytes for each of its places, of which at least 7 in 16 are in use, and one more for what it knows
// of the place.
const _: () = assert!(size_of::<Slot>() + 5 * 16 / 7 < MAX_BYTES_PER_ID);
