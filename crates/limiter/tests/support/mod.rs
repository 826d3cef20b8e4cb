//! A store for the contract suite.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use tollgate::{Clock, MemoryStore, Span};

/// More than any number of cases needs: with 10,000 of them there are more ids than a store has room for by
/// default.
const MAX_KEYS: usize = 1_000_000_000;

/// Returns a store that forgets nothing. The suite steps back and forth in time by more than states and ids live,
/// so none of them may be swept.
pub(crate) fn lasting_store() -> Arc<MemoryStore> {
    let slack = Span::from_micros(1 << 52);
    MemoryStore::builder()
        .clock(Clock::manual())
        .slack(slack)
        .max_keys(MAX_KEYS)
        .max_memory(usize::MAX)
        .build()
        .unwrap()
}
