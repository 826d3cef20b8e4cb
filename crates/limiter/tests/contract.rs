//! The memory store obeys the laws.

#![allow(clippy::unwrap_used, reason = "a test")]

use tollgate::{Clock, MemoryStore, Span};
use tollgate_core::contract::Suite;

/// Number of random cases for each law and algorithm. `TOLLGATE_CASES` overrides it.
const CASES: u32 = 64;

fn cases() -> u32 {
    std::env::var("TOLLGATE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES)
}

#[test]
fn the_memory_store_keeps_the_contract() {
    // The suite steps back and forth in time by more than states live, so nothing may be swept.
    let slack = Span::from_micros(1 << 52);
    let store = MemoryStore::builder().clock(Clock::manual()).slack(slack).build().unwrap();
    Suite::new(&*store).cases(cases()).run_all();
}
