//! Known bugs of other limiters, one test each.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod support;

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use support::TestPolicy;
use tollgate_core::{Act, Decision, Limit, Span};

/// One key of one policy.
struct Client(TestPolicy);

impl Client {
    fn new(lines: &[&str]) -> Client {
        Client(TestPolicy::new(lines))
    }

    fn check(&self, cost: u64, micros: u64) -> Decision {
        self.0.apply("key", Act::Check, cost, None, micros)
    }

    /// Returns how many checks of cost 1 are allowed at this instant.
    fn burst(&self, micros: u64) -> usize {
        (0..10_000).take_while(|_| self.check(1, micros).allowed).count()
    }
}

/// governor 0.10: one cell per day and a burst of 213,505 overflows its nanoseconds, and a release
/// build lets one cell through. We reject the limit because it is out of bounds, and accept the
/// largest that fits.
#[test]
fn a_burst_that_would_overflow_is_rejected() {
    let error = "gcra 1/day burst 213505".parse::<Limit>().unwrap_err();
    assert_eq!(error.field(), "burst");
    assert_eq!(error.value(), "213505");
    assert!("gcra 1/day burst 26063".parse::<Limit>().is_err());
    let largest = Client::new(&["gcra 1/day burst 26062"]);
    assert_eq!(largest.burst(1_700_000_000_000_000), 10_000);
    assert!(largest.check(16_062, 1_700_000_000_000_000).allowed);
    assert!(!largest.check(1, 1_700_000_000_000_000).allowed);
}

/// throttlecrab 0.4: burst 10, one per second, drained, then 15 s idle: 15 pass at one instant.
#[test]
fn a_pause_earns_no_more_than_one_burst() {
    for line in ["gcra 1/s burst 10", "token-bucket 1/s burst 10", "leaky-bucket size 10"] {
        let key = Client::new(&[line]);
        assert_eq!(key.burst(1_000_000), 10, "{line}");
        assert_eq!(key.burst(16_000_000), 10, "{line}");
    }
}

/// redis-cell and others truncate waits to whole milliseconds or seconds, so that a denial says
/// "retry after 0".
#[test]
fn a_denial_never_has_retry_after_zero() {
    let key = Client::new(&["gcra 10000/s burst 1"]);
    assert!(key.check(1, 0).allowed);
    let denied = key.check(1, 0);
    assert_eq!(denied.retry_after, Some(Span::from_micros(100)));
    assert_eq!(denied.retry_after.unwrap().as_secs_ceil(), 1);
    assert!(!key.check(1, 99).allowed);
    assert!(key.check(1, 100).allowed);
}

/// redis-cell divides by whole microseconds: rates above a million per second divide by zero.
#[test]
fn more_than_one_per_tick_is_counted_exactly() {
    let key = Client::new(&["gcra 3000000/s burst 3"]);
    assert_eq!(key.burst(0), 3);
    assert_eq!(key.burst(1), 3);
    assert_eq!(key.check(4, 1).retry_after, None);
}

/// An interval truncated to whole ticks drifts: 3 a second is one every 333,333 and a third ticks.
#[test]
fn a_third_of_a_second_does_not_drift() {
    let key = Client::new(&["gcra 3/s burst 1"]);
    let (mut now, mut passed) = (0, 0);
    while now < 3_600_000_000 {
        let decision = key.check(1, now);
        passed += u64::from(decision.allowed);
        now += decision.retry_after.unwrap().as_micros().max(1);
    }
    assert_eq!(passed, 3 * 3600);
}

/// limitador compares first and adds afterwards, so concurrent callers pass together; two atomics
/// for one value lose an addition. Here every rule is one queue.
#[test]
fn concurrent_callers_are_one_queue() {
    let lines = [
        "gcra 1/week burst 1000",
        "leaky-bucket size 1000 drip 1 every 1week",
        "fixed-window 1000/week",
        "request-window 1000/week",
        "sliding-log 1000/week",
        "sliding-counters 1000/week",
        "sliding-window 1000/week",
        "ar1 max 1000 decay 2 resolution 1week",
        "concurrency 1000 ttl 1week",
    ];
    for line in lines {
        let (key, passed) = (Client::new(&[line, "unlimited"]), AtomicU64::new(0));
        thread::scope(|scope| {
            for thread in 0..4 {
                let (key, passed) = (&key, &passed);
                scope.spawn(move || {
                    for n in 0..1000 {
                        let decision = key.check(1, 1_700_000_000_000_000 + thread + n);
                        passed.fetch_add(u64::from(decision.allowed), Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(passed.into_inner(), 1000, "{line}");
    }
}

/// Whatever the state.
#[test]
fn a_cost_that_can_never_fit_has_no_retry_after() {
    let key = Client::new(&["gcra 1/s burst 5"]);
    assert_eq!(key.check(6, 0).retry_after, None);
    assert!(key.check(5, 0).allowed);
    assert_eq!(key.check(6, 0).retry_after, None);
    assert_eq!(key.check(u64::from(u32::MAX), 100_000_000).retry_after, None);
}
