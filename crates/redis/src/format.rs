//! Numbers that the scripts and this crate share: what is kept in the store, and what a reply begins with.

/// The first byte of every value and of every list of states in a reply. It is hashed with every key, too: releases of
/// different formats count apart, and none reads what another has written.
pub(crate) const VERSION: u8 = 2;

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
/// How many bytes an open reservation takes in the store.
pub(crate) const RESERVATION_BYTES: usize = 41;
/// How many bytes a lease takes in the store.
pub(crate) const LEASE_BYTES: usize = 30;
/// How long a generation of ids is known, in milliseconds: longer than any reply that belongs to it.
pub(crate) const GENERATION_TTL_MS: u64 = 65_000;
/// How many bytes a reply has for a state whose body begins with its size.
pub(crate) const SUMMARY_BYTES: usize = 21;
/// How many bytes the argument of a script begins with: the time.
pub(crate) const HEAD_BYTES: usize = 7;
