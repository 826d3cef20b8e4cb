//! The core against the reference model, which decides from the full history of a key and shares
//! no code with it.
//!
//! `TOLLGATE_OPERATIONS` sets the number of random operations for each algorithm, `TOLLGATE_SEED`
//! their seed.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod store;

use tollgate_core::PlainStore;
use tollgate_model::random::Algorithm;

fn compare(algorithm: Algorithm) {
    store::compare_with_model(algorithm, PlainStore::default);
}

tollgate_model::test_each_algorithm!(compare);
