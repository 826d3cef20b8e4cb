//! Faults between a store and real servers: each ends in a clear error or heals; none hangs, none panics, none
//! admits without counting.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod client;
mod clocks;
mod cross_slot;
mod cross_slot_costs;
mod cross_slot_faults;
mod damaged;
#[path = "../support/errors.rs"]
mod errors;
mod failover;
mod foreign;
mod guards;
mod impatient;
mod login;
mod operations;
mod paused;
mod refused;
mod scripts;
mod tls;
mod unreachable;
