//! The memory store against the reference model, as the core is held against it.
//!
//! `TOLLGATE_OPERATIONS` sets how many random operations each algorithm gets, and `TOLLGATE_SEED`
//! which.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

#[path = "../../core/tests/model/store.rs"]
mod store;

use std::sync::Arc;

use tollgate::{Clock, MemoryStore, Span};
use tollgate_model::random::Algorithm;

/// Times are drawn at random and step back, so nothing may be dropped for being past.
fn memory() -> Arc<MemoryStore> {
    let slack = Span::from_micros(1 << 52);
    MemoryStore::builder().max_keys(64).clock(Clock::manual()).slack(slack).build().unwrap()
}

fn hold(algorithm: Algorithm) {
    store::compare_with_model(algorithm, memory);
}

tollgate_model::test_each_algorithm!(hold);
