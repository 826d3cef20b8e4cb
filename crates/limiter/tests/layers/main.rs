//! What each layer around a remote store does, one at a time, in virtual time.

#![allow(clippy::unwrap_used, reason = "a test")]

mod coalesce;
mod deny_cache;
mod failover;
mod memory;
mod prefetch;
mod recovery;
mod remote;
mod stalled;
mod write_behind;
