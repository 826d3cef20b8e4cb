//! Numbers that the scripts and this crate share: what is kept in the store, and what a reply begins with.

use tollgate_core::MAX_ENTRIES;

/// The first byte of every value and of every list of states in a reply. It is hashed with every key, too: releases of
/// different formats count apart, and none reads what another has written.
pub(crate) const VERSION: u8 = 4;

/// First byte of a reply: the operation was allowed. 0 means denied.
pub(crate) const ALLOWED: u8 = 1;
/// First byte of a reply: the time lies outside the calendar windows that were sent; nothing was done.
pub(crate) const WINDOWS_NEEDED: u8 = 2;
/// First byte of a reply: the debt would be too large; nothing was done.
pub(crate) const OVERDRAWN: u8 = 3;
/// First byte of a reply: the operation was done before under the same id, and the first reply follows.
pub(crate) const REMEMBERED: u8 = 4;
/// First byte of a reply: several checks were decided, and the result of each run follows.
pub(crate) const RUNS: u8 = 5;
/// First byte of a reply: the operation was done before under the same id, and a lease that it took has ended since;
/// nothing was done.
pub(crate) const LAPSED: u8 = 6;

/// What the result of a run begins with if it was done before under the same id, and the first reply
/// follows. Otherwise it begins with the number of checks that are allowed.
pub(crate) const REMEMBERED_RUN: u8 = 255;

/// How many bytes the body of each rule takes in the store, by the number of the rule. 0 for those that
/// begin with their size.
pub(crate) const BODY_BYTES: [usize; 8] = [0, 22, 25, 21, 0, 28, 38, 0];
/// Number of bytes of a hash that are used: enough that no two of them in a store are ever the same.
pub(crate) const HASH_BYTES: usize = 16;
/// How many bytes a state has about its open reservations, which are kept apart.
pub(crate) const RESERVATIONS_BYTES: usize = 26;
/// How many bytes of its handle an open reservation is searched by.
pub(crate) const MARK_BYTES: usize = 2;
/// In how many parts the marks of leases lie, by which those of a handle are found.
pub(crate) const MARK_PARTS: usize = 8;
/// How many bytes an open reservation takes among those of its group.
pub(crate) const ROW_BYTES: usize = 36;
/// How many bytes are kept about each group of open reservations.
pub(crate) const GROUP_HEAD_BYTES: usize = 56;
/// How much of what is kept apart of a state lies together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PartSizes {
    /// Maximum number of open reservations that are read and written together.
    pub(crate) rows_in_group: usize,
    /// How many slots or leases a state has at least in itself, before others are kept apart; at most twice as many.
    pub(crate) max_inline: usize,
    /// How many slots or leases are read and written together at most.
    pub(crate) max_block: usize,
}

impl PartSizes {
    /// Sizes with which a test that has few entries has many parts.
    pub(crate) const TINY: PartSizes = PartSizes { rows_in_group: 4, max_inline: 1, max_block: 4 };

    /// Maximum number of blocks of slots or leases of one state. Two neighbours have more than three quarters of
    /// `max_block`.
    pub(crate) fn max_blocks(&self) -> usize {
        2 * (MAX_ENTRIES + 2) / (self.max_block * 3 / 4) + 2
    }
}

impl Default for PartSizes {
    fn default() -> PartSizes {
        PartSizes { rows_in_group: 64, max_inline: 64, max_block: 256 }
    }
}

/// How many bytes a slot takes in a block.
pub(crate) const SLOT_BYTES: usize = 14;
/// How many bytes a lease takes in the store.
pub(crate) const LEASE_BYTES: usize = 30;
/// How long a generation of ids is known, in milliseconds: longer than any reply that belongs to it.
pub(crate) const GENERATION_TTL_MS: u64 = 65_000;
/// How many bytes a reply has for a state whose body begins with its size.
pub(crate) const SUMMARY_BYTES: usize = 21;
/// How many bytes the argument of a script begins with: the time.
pub(crate) const HEAD_BYTES: usize = 7;
