//! A key that was denied is denied again without a second look, but never a moment too long: whatever
//! gives it room is noticed at once, whoever does it.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use tollgate::{Clock, Limiter, MemoryStore};

/// One limit for each size of state there is.
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

fn stopped(line: &str) -> (Limiter, Clock) {
    let clock = Clock::manual();
    clock.advance(Duration::from_secs(1_700_000_000));
    let store = MemoryStore::builder().clock(clock.clone()).build().unwrap();
    (Limiter::parse([line]).unwrap().with_store(store), clock)
}

/// Takes all there is, and is denied until it is known by heart.
fn exhaust(limiter: &Limiter, key: &str) {
    while limiter.check(key).unwrap().allowed {}
    for _ in 0..3 {
        assert!(!limiter.check(key).unwrap().allowed);
    }
}

#[test]
fn what_gives_room_is_noticed_at_once() {
    type Gives = fn(&Limiter, &Clock) -> Limiter;
    let ways: [(&str, Gives); 5] = [
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
        ("another name", |limiter, _| limiter.clone().with_name("other").unwrap()),
    ];
    for line in LINES {
        for (way, give) in ways {
            let (limiter, clock) = stopped(line);
            exhaust(&limiter, "a");
            let limiter = give(&limiter, &clock);
            assert!(limiter.check("a").unwrap().allowed, "{line}: {way}");
        }
    }
}

#[test]
fn what_another_thread_gives_is_noticed_at_once() {
    for line in LINES {
        let (limiter, _) = stopped(line);
        let (ask, asked) = channel();
        let (answer, answered) = channel();
        let other = limiter.clone();
        let helper = thread::spawn(move || {
            for () in asked {
                other.key("a").reset().unwrap();
                answer.send(()).unwrap();
            }
        });
        for _ in 0..1_000 {
            exhaust(&limiter, "a");
            ask.send(()).unwrap();
            answered.recv().unwrap();
            assert!(limiter.check("a").unwrap().allowed, "{line}");
        }
        drop(ask);
        helper.join().unwrap();
    }
}

#[test]
fn what_another_thread_takes_is_not_given_again() {
    for line in LINES {
        let (limiter, clock) = stopped(line);
        exhaust(&limiter, "a");
        clock.advance(Duration::from_secs(7_200));
        let other = limiter.clone();
        thread::spawn(move || exhaust(&other, "a")).join().unwrap();
        assert!(!limiter.check("a").unwrap().allowed, "{line}");
    }
}

#[test]
fn keys_and_stores_are_told_apart() {
    let (limiter, clock) = stopped("gcra 1/h burst 2");
    let (other, _) = stopped("gcra 1/h burst 2");
    let long = "k".repeat(200);
    // All end in the same byte, and some are the beginning or the end of another.
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

/// Stores restored from one snapshot hash alike, and were made at different times.
#[test]
fn restored_twins_are_told_apart() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let (limiter, clock) = stopped("gcra 1/h burst 2");
    exhaust(&limiter, "a");
    limiter.store().save(file.path()).unwrap();
    let restored = || {
        let builder = MemoryStore::builder().clock(clock.clone());
        let (store, states) = builder.restore(file.path()).unwrap();
        assert_eq!(states.unwrap(), 1);
        limiter.clone().with_store(store)
    };
    let first = restored();
    assert!(!first.check("a").unwrap().allowed);
    clock.advance(Duration::from_secs(5_400));
    let second = restored();
    assert!(second.check("a").unwrap().allowed);
    assert!(first.check("a").unwrap().allowed);
}

#[test]
fn the_answers_are_those_of_a_first_look() {
    for line in LINES {
        let (limiter, clock) = stopped(line);
        exhaust(&limiter, "a");
        for _ in 0..50 {
            clock.advance(Duration::from_micros(10));
            let limiter = Arc::new(limiter.clone());
            let known = limiter.check("a").unwrap();
            let fresh = thread::spawn(move || limiter.check("a").unwrap()).join().unwrap();
            assert_eq!(known, fresh, "{line}");
            assert!(!known.allowed, "{line}");
        }
    }
}
