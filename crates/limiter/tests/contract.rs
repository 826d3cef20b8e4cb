//! The memory store obeys the laws.

#![allow(clippy::unwrap_used, reason = "a test")]

use tollgate::{Clock, MemoryStore, Span};
use tollgate_core::contract::Suite;

/// Number of random cases for each law and algorithm. `TOLLGATE_CASES` overrides it.
const CASES: u32 = 64;
/// More than any number of cases needs.
const MAX_KEYS: usize = 1_000_000_000;

fn cases() -> u32 {
    std::env::var("TOLLGATE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES)
}

#[test]
fn the_memory_store_keeps_the_contract() {
    // The suite steps back and forth in time by more than states live, so nothing may be swept.
    let slack = Span::from_micros(1 << 52);
    // So all ids stay, too: with 10,000 cases more than there is room for by default.
    let store = MemoryStore::builder().clock(Clock::manual()).slack(slack).max_keys(MAX_KEYS);
    let store = store.build().unwrap();
    Suite::new(&*store).cases(cases()).run_all();
}
