//! Limits that change under load: usage carries over.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use tollgate::{Clock, Limiter, MemoryStore};

/// Four threads check one key while another changes the limits as fast as it can; afterwards the key
/// is checked under the last limit alone. The clock stands still. Returns how many checks were allowed.
fn allowed_while_changing(lines: &[&str]) -> u64 {
    let store = MemoryStore::builder().max_keys(1000).clock(Clock::manual()).build().unwrap();
    let first = store.limiter("test", &lines[..1]).unwrap();
    let each: Vec<Limiter> =
        lines.iter().map(|line| first.with_limits(vec![line.parse().unwrap()])).collect();
    let current = RwLock::new(first);
    let (done, allowed) = (AtomicBool::new(false), AtomicU64::new(0));
    let check = |limiter: &Limiter| {
        allowed.fetch_add(u64::from(limiter.check("hot").unwrap().allowed), Ordering::Relaxed);
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            for turn in 0.. {
                *current.write().unwrap() = each[turn % each.len()].clone();
                if done.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        let checkers: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| (0..10_000).for_each(|_| check(&current.read().unwrap()))))
            .collect();
        checkers.into_iter().for_each(|checker| checker.join().unwrap());
        done.store(true, Ordering::Relaxed);
    });
    (0..10_000).for_each(|_| check(each.last().unwrap()));
    allowed.into_inner()
}

#[test]
fn counts_carry_over_exactly() {
    let windows = ["fixed-window 300/h", "fixed-window 2000/day", "fixed-window 700/h"];
    assert!((700..=2000).contains(&allowed_while_changing(&windows)));
    assert_eq!(allowed_while_changing(&["fixed-window 10/h", "fixed-window 2000/day"]), 2000);
    assert_eq!(allowed_while_changing(&["request-window 10/s", "request-window 2000/h"]), 2000);
    assert_eq!(allowed_while_changing(&["sliding-log 10/s", "sliding-log 2000/h"]), 2000);
    assert_eq!(allowed_while_changing(&["sliding-window 10/min", "sliding-window 2000/h"]), 2000);
    assert_eq!(
        allowed_while_changing(&[
            "leaky-bucket size 10 drip 1 every 1s",
            "leaky-bucket size 2000 drip 7 every 3s"
        ]),
        2000
    );
}

#[test]
fn a_level_is_converted_and_never_forgotten() {
    let allowed = allowed_while_changing(&["gcra 1/s burst 10", "gcra 100/7s burst 2000"]);
    // Converting rounds up, by less than one part of a tick each time.
    assert!((1990..=2000).contains(&allowed), "{allowed}");
}

#[test]
fn a_changed_rule_starts_afresh_and_the_others_are_unchanged() {
    let store = MemoryStore::builder().clock(Clock::manual()).build().unwrap();
    let limits = |lines: &[&str]| lines.iter().map(|line| line.parse().unwrap()).collect();
    let before = store.limiter("test", ["gcra 1/h burst 5", "fixed-window 9/h"]).unwrap();
    (0..4).for_each(|_| assert!(before.check("a").unwrap().allowed));

    let after = before.with_limits(limits(&["gcra 1/h burst 5", "sliding-window 9/h"]));
    let decision = after.check("a").unwrap();
    assert_eq!((decision.allowed, decision.remaining), (true, Some(0)));
    let back = before.key("a").peek().unwrap();
    assert_eq!(back.remaining, Some(0));
    let alone = before.with_limits(limits(&["unlimited", "fixed-window 9/h"]));
    assert_eq!(alone.key("a").peek().unwrap().remaining, Some(9));
}

/// Also where reservations under the rule before have kept the state in its place.
#[test]
fn a_lease_under_a_new_rule_is_found_by_its_id() {
    for before in ["gcra 5/10s", "fixed-window 5/10s", "sliding-log 5/10s"] {
        let store = MemoryStore::builder().clock(Clock::manual()).build().unwrap();
        let first = store.limiter("test", [before]).unwrap();
        let leases = first.with_limits(vec!["concurrency 1 ttl 6s".parse().unwrap()]);
        assert!(first.key("a").id(b"open").cost(0).reserve().unwrap().allowed);
        for _ in 0..3 {
            let reserved = leases.key("a").id(b"mine").reserve().unwrap();
            assert!(reserved.allowed && reserved.remaining == Some(0), "{before}: {reserved:?}");
        }
        assert!(!leases.key("a").id(b"other").check().unwrap().allowed);
        assert!(leases.key("a").id(b"mine").release().unwrap().allowed);
        assert!(leases.key("a").id(b"other").check().unwrap().allowed);
    }
}
