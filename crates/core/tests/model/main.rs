//! The core against the reference model, which decides from the full history of a key and shares
//! no code with it.
//!
//! `TOLLGATE_OPERATIONS` sets how many random operations each algorithm gets, and `TOLLGATE_SEED`
//! which.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod store;

use tollgate_core::PlainStore;
use tollgate_model::random::Algorithm;

fn hold(algorithm: Algorithm) {
    store::hold(algorithm, PlainStore::default);
}

tollgate_model::test_each_algorithm!(hold);
