//! A denied key is denied again from the cache, but never too long: whatever makes room for it takes
//! effect at once, whichever thread does it.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use tollgate::{Clock, Limiter, MemoryStore};

/// Limits for every form of state.
const LINES: [&str; 8] = [
    "gcra 1/h burst 2",
    "gcra 999999937/week burst 2",
    "leaky-bucket size 2 drip 1 every 1h",
    "fixed-window 2/h",
    "request-window 2/h",
    "sliding-window 2/h",
    "ar1 max 2 decay 2 resolution 1h",
    "sliding-log 2/h",
];

fn frozen(line: &str) -> (Limiter, Clock) {
    let clock = Clock::manual();
    clock.advance(Duration::from_secs(1_700_000_000));
    let store = MemoryStore::builder().clock(clock.clone()).build().unwrap();
    (store.limiter("test", [line]).unwrap(), clock)
}

/// Exhausts the key, and has it denied until that is cached.
fn exhaust(limiter: &Limiter, key: &str) {
    while limiter.check(key).unwrap().allowed {}
    for _ in 0..3 {
        assert!(!limiter.check(key).unwrap().allowed);
    }
}

#[test]
fn what_makes_room_takes_effect_at_once() {
    type MakeRoom = fn(&Limiter, &Clock) -> Limiter;
    let ways: [(&str, MakeRoom); 5] = [
        ("reset", |limiter, _| {
            limiter.key("a").reset().unwrap();
            limiter.clone()
        }),
        ("refund", |limiter, _| {
            limiter.key("a").cost(2).refund().unwrap();
            limiter.clone()
        }),
        ("time", |limiter, clock| {
            clock.advance(Duration::from_secs(7_200));
            limiter.clone()
        }),
        ("another limit", |limiter, _| {
            limiter.with_limits(vec!["gcra 1/h burst 9".parse().unwrap()])
        }),
        ("another name", |limiter, _| {
            limiter.store().limiter("other", [limiter.policy().limits()[0].clone()]).unwrap()
        }),
    ];
    for line in LINES {
        for (way, make_room) in ways {
            let (limiter, clock) = frozen(line);
            exhaust(&limiter, "a");
            let limiter = make_room(&limiter, &clock);
            assert!(limiter.check("a").unwrap().allowed, "{line}: {way}");
        }
    }
}

#[test]
fn a_reset_by_another_thread_takes_effect_at_once() {
    for line in LINES {
        let (limiter, _) = frozen(line);
        let (request, requests) = channel();
        let (done, is_done) = channel();
        let other = limiter.clone();
        let helper = thread::spawn(move || {
            for () in requests {
                other.key("a").reset().unwrap();
                done.send(()).unwrap();
            }
        });
        for _ in 0..1_000 {
            exhaust(&limiter, "a");
            request.send(()).unwrap();
            is_done.recv().unwrap();
            assert!(limiter.check("a").unwrap().allowed, "{line}");
        }
        drop(request);
        helper.join().unwrap();
    }
}

#[test]
fn what_another_thread_takes_is_not_allowed_again() {
    for line in LINES {
        let (limiter, clock) = frozen(line);
        exhaust(&limiter, "a");
        clock.advance(Duration::from_secs(7_200));
        let other = limiter.clone();
        thread::spawn(move || exhaust(&other, "a")).join().unwrap();
        assert!(!limiter.check("a").unwrap().allowed, "{line}");
    }
}

#[test]
fn keys_and_stores_are_not_confused() {
    let (limiter, clock) = frozen("gcra 1/h burst 2");
    let (other, _) = frozen("gcra 1/h burst 2");
    let long = "k".repeat(200);
    // All end in the same byte, and some are a prefix or suffix of another.
    let keys = ["k", "kk", "ak", "aaaaaaaak", "aaaaaaaaaaaaaaak", &long, &long[1..], &long[160..]];
    for key in keys {
        exhaust(&limiter, key);
    }
    for key in keys {
        assert!(!limiter.check(key).unwrap().allowed, "{key}");
        assert!(other.check(key).unwrap().allowed, "{key}");
    }
    clock.advance(Duration::from_secs(3_600));
    for key in keys {
        assert!(limiter.check(key).unwrap().allowed, "{key}");
    }
}

/// Stores restored from one snapshot hash alike, and are created at different times.
#[test]
fn stores_restored_from_one_snapshot_are_not_confused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let (limiter, clock) = frozen("gcra 1/h burst 2");
    exhaust(&limiter, "a");
    limiter.store().save(file.path()).unwrap();
    let restored = || {
        let builder = MemoryStore::builder().clock(clock.clone());
        let (store, states) = builder.restore(file.path()).unwrap();
        assert_eq!(states.unwrap(), 1);
        store.limiter("test", ["gcra 1/h burst 2"]).unwrap()
    };
    let first = restored();
    assert!(!first.check("a").unwrap().allowed);
    clock.advance(Duration::from_secs(5_400));
    let second = restored();
    assert!(second.check("a").unwrap().allowed);
    assert!(first.check("a").unwrap().allowed);
}

#[test]
fn cached_decisions_equal_uncached_ones() {
    for line in LINES {
        let (limiter, clock) = frozen(line);
        exhaust(&limiter, "a");
        for _ in 0..50 {
            clock.advance(Duration::from_micros(10));
            let limiter = Arc::new(limiter.clone());
            let cached = limiter.check("a").unwrap();
            let uncached = thread::spawn(move || limiter.check("a").unwrap()).join().unwrap();
            assert_eq!(cached, uncached, "{line}");
            assert!(!cached.allowed, "{line}");
        }
    }
}
