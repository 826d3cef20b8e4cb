//! The memory store is compared with the reference model, as the core is.
//!
//! `TOLLGATE_OPERATIONS` sets the number of random operations for each algorithm, and `TOLLGATE_SEED`
//! the seed.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

#[path = "../../core/tests/model/store.rs"]
mod store;

use std::sync::Arc;

use tollgate::{Clock, MemoryStore, Span};
use tollgate_model::random::Algorithm;

/// Times are random and step back, so no state may be dropped because it has reset.
fn memory() -> Arc<MemoryStore> {
    let slack = Span::from_micros(1 << 52);
    MemoryStore::builder().max_keys(64).clock(Clock::manual()).slack(slack).build().unwrap()
}

fn hold(algorithm: Algorithm) {
    store::compare_with_model(algorithm, memory);
}

tollgate_model::test_each_algorithm!(hold);
