//! Concurrent threads are allowed exactly as often as a single one would be (laws 2 and 9).

#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use tollgate::{Clock, Limiter, MemoryStore};

const THREADS: usize = 4;
const CHECKS: u64 = 20_000;

/// Creates a limiter whose clock stands still, so that nothing beyond the capacity is allowed.
fn frozen(lines: &[&str]) -> Limiter {
    let store = MemoryStore::builder().max_keys(10_000).clock(Clock::manual()).build().unwrap();
    store.limiter("test", lines).unwrap()
}

/// Returns how many checks of all threads together were allowed.
fn allowed(check: impl Fn(u64) -> bool + Sync) -> u64 {
    let (start, allowed) = (Barrier::new(THREADS), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                start.wait();
                let mine = (0..CHECKS).filter(|turn| check(*turn)).count() as u64;
                allowed.fetch_add(mine, Ordering::Relaxed);
            });
        }
    });
    allowed.into_inner()
}

/// Every algorithm, with a capacity that is reached in the middle of the run.
const LIMITS: [&str; 13] = [
    "gcra 1/s burst 9999",
    "gcra 333/s burst 9999",
    "token-bucket 1/s burst 9999",
    "token-bucket 10/s burst 9999 whole",
    "leaky-bucket size 9999 drip 2 every 1s",
    "legacy max 9999 duration 5s",
    "fixed-window 9999/h",
    "request-window 9999/h",
    "sliding-log 9999/h",
    "sliding-counters 9999/h",
    "sliding-window 9999/h",
    "ar1 max 9999.5 decay 2 resolution 1s",
    "concurrency 9999 ttl 30s",
];

#[test]
fn one_key_is_allowed_exactly_its_capacity() {
    for line in LIMITS {
        let limiter = frozen(&[line]);
        assert_eq!(allowed(|_| limiter.check("hot").unwrap().allowed), 9999, "{line}");
        assert_eq!(limiter.key("hot").peek().unwrap().remaining, Some(0), "{line}");
    }
}

#[test]
fn a_policy_allows_its_tightest_limit_and_charges_the_others_as_often() {
    for line in LIMITS {
        let limiter = frozen(&[line, "fixed-window 50000/day", "gcra 1/min burst 7777"]);
        assert_eq!(allowed(|_| limiter.check("hot").unwrap().allowed), 7777, "{line}");
        // What the policy denied was charged to none of them.
        let rest = limiter.with_limits(limiter.policy().limits()[..1].to_vec());
        assert_eq!(rest.key("hot").peek().unwrap().remaining, Some(9999 - 7777), "{line}");
    }
}

#[test]
fn several_subjects_are_charged_together_or_not_at_all() {
    let limiter = frozen(&[
        "gcra 1/s burst 100 per ip",
        "fixed-window 5000/h per user",
        "gcra 1/h burst 3000 per all",
    ]);
    let check = |turn: u64| {
        let (ip, user) = (format!("ip{}", turn % 37), format!("user{}", turn % 5));
        limiter.keys(&[("ip", &ip), ("user", &user)]).check().unwrap().allowed
    };
    // 37 addresses may use 3,700 and 5 users 25,000, but all together only 3,000.
    assert_eq!(allowed(check), 3000);
    let used: u64 = (0..37)
        .map(|ip| {
            let (ip, user) = (format!("ip{ip}"), "user0");
            let left = limiter
                .with_limits(limiter.policy().limits()[..1].to_vec())
                .keys(&[("ip", ip.as_str()), ("user", user)])
                .peek()
                .unwrap();
            100 - left.remaining.unwrap()
        })
        .sum();
    assert_eq!(used, 3000);
}

#[test]
fn batches_and_single_checks_are_one_queue() {
    let limiter = frozen(&["gcra 1/s burst 9999"]);
    let batches = AtomicU64::new(0);
    let single = allowed(|turn| {
        if turn % 2 == 0 {
            return limiter.check("hot").unwrap().allowed;
        }
        let mut decisions = Vec::new();
        limiter.check_many(["hot", "cold", "hot"], &mut decisions);
        let hot = [&decisions[0], &decisions[2]];
        let passed =
            hot.iter().filter(|decision| decision.as_ref().is_ok_and(|d| d.allowed)).count();
        batches.fetch_add(passed as u64, Ordering::Relaxed);
        false
    });
    assert_eq!(single + batches.into_inner(), 9999);
}

#[test]
fn only_what_was_refunded_can_be_taken_again() {
    let limiter = frozen(&["gcra 1/s burst 500", "fixed-window 500/h"]);
    let refunds = AtomicU64::new(0);
    let passed = allowed(|turn| {
        if turn % 100 == 7 && limiter.key("hot").peek().unwrap().remaining == Some(0) {
            // Each refund gives back what was taken: the key is exhausted.
            refunds.fetch_add(1, Ordering::Relaxed);
            limiter.key("hot").refund().unwrap();
        }
        limiter.check("hot").unwrap().allowed
    });
    let left = limiter.key("hot").peek().unwrap().remaining.unwrap();
    assert_eq!(passed + left, 500 + refunds.into_inner());
}
