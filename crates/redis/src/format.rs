//! Numbers that the scripts and this crate share: what is kept in the store, and what a reply begins with.

use tollgate_core::MAX_ENTRIES;

/// The first byte of every value and of every list of states in a reply. It is hashed with every key, too: releases of
/// different formats count apart, and none reads what another has written.
pub(crate) const VERSION: u8 = 3;

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

/// What the result of a run begins with if it was done before under the same id, and the first reply
/// follows. Otherwise it begins with the number of checks that are allowed.
pub(crate) const REMEMBERED_RUN: u8 = 255;

/// How many bytes the body of each rule takes in the store, by the number of the rule. 0 for those that
/// begin with their size.
pub(crate) const BODY_BYTES: [usize; 8] = [0, 22, 25, 21, 0, 28, 38, 0];
/// Number of bytes of a hash that are used: enough that no two of them in a store are ever the same.
pub(crate) const HASH_BYTES: usize = 16;
/// How many bytes a state has about its open reservations, which are kept apart.
pub(crate) const RESERVATIONS_BYTES: usize = 34;
/// Whether everything that is kept apart in parts has tiny ones, so that a test with few entries has many parts.
const TINY_PARTS: bool = option_env!("TOLLGATE_TINY_PARTS").is_some();
/// How many open reservations are read and written together.
pub(crate) const ROWS_IN_PART: usize = if TINY_PARTS { 2 } else { 128 };
/// How many bytes are kept about each part of the open reservations.
pub(crate) const HEADS_BYTES: usize = 32;
/// How many slots or leases a state has at least in itself, before others are kept apart; at most twice as many.
pub(crate) const MAX_INLINE: usize = if TINY_PARTS { 1 } else { 64 };
/// How many slots or leases are read and written together at most.
pub(crate) const MAX_BLOCK: usize = if TINY_PARTS { 4 } else { 256 };
/// Maximum number of blocks of slots or leases of one state. Two neighbours have more than three quarters of
/// [`MAX_BLOCK`].
pub(crate) const MAX_BLOCKS: usize = 2 * (MAX_ENTRIES + 2) / (MAX_BLOCK * 3 / 4) + 2;
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
