//! What goes wrong on the way to a store, held against real servers: each fault ends in a clear error or
//! heals; none hangs, none panics, none admits without counting.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod client;
mod clocks;
mod cross_slot;
mod failover;
mod foreign;
mod gone;
mod guards;
mod in_between;
mod login;
mod paused;
mod plan;
mod refused;
mod scripts;
mod tls;
