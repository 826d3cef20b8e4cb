//! The memory store obeys the laws.

mod support;

use support::lasting_store;
use tollgate_core::contract::Suite;

/// Number of random cases for each law and algorithm. `TOLLGATE_CASES` overrides it.
const CASES: u32 = 64;

fn cases() -> u32 {
    std::env::var("TOLLGATE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES)
}

#[test]
fn the_memory_store_keeps_the_contract() {
    Suite::new(&*lasting_store()).cases(cases()).run_all();
}
