//! A check of a single limit in memory allocates nothing for a key that is known, whatever the way to ask.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::net::IpAddr;

use tollgate::{Clock, Decision, Error, Limiter, MemoryStore};
use tollgate_fixtures::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Limits whose states have a fixed size.
const LINES: [&str; 8] = [
    "gcra 1/h burst 500",
    "token-bucket 1/h burst 500",
    "leaky-bucket size 500 drip 1 every 1h",
    "fixed-window 500/day",
    "request-window 500/day",
    "sliding-window 500/day",
    "ar1 max 500 decay 2 resolution 1s",
    "unlimited",
];
/// More than the limits allow, so that some of the checks are denied.
const CHECKS: usize = 1_000;

fn limiter(line: &str) -> Limiter {
    let store = MemoryStore::builder().clock(Clock::manual()).build().unwrap();
    store.limiter("api", [line]).unwrap()
}

/// Counts the allocations of many checks after the first, which makes the key known.
fn assert_no_allocation(what: &str, check: impl Fn() -> Result<Decision, Error>) {
    assert!(check().unwrap().allowed, "{what}");
    let count = CountingAllocator::count_during(|| {
        for _ in 0..CHECKS {
            let _ = check().unwrap();
        }
    });
    assert_eq!(count, 0, "{what}: allocations in {CHECKS} checks");
}

#[test]
fn a_check_of_a_limiter_allocates_nothing() {
    for line in LINES {
        let limiter = limiter(line);
        assert_no_allocation(line, || limiter.check("203.0.113.9"));
    }
}

#[test]
fn a_check_of_a_request_allocates_nothing() {
    let address: IpAddr = "203.0.113.9".parse().unwrap();
    for line in LINES {
        let limiter = limiter(line);
        assert_no_allocation(line, || limiter.key(address).cost(2).check());
    }
}

#[test]
fn a_check_of_one_named_subject_allocates_nothing() {
    for line in LINES {
        let line = format!("{line} per user");
        let limiter = limiter(&line);
        assert_no_allocation(&line, || limiter.subject("user", 42).check());
    }
}
