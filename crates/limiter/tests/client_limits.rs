//! Clients that bring ever new limits with their operations, as `CL.THROTTLE` does.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use std::collections::HashMap;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use tollgate::{Clock, MemoryStore, Name};
use tollgate_core::storage::{State, decide};
use tollgate_core::{Decision, Item, Key, Limit, Op, StoreError, Subject, Time};

/// More limits than a store has indices for.
const LIMITS: u32 = 6_000;

fn limit(number: u32) -> Limit {
    format!("gcra {}/s burst {}", 1_000 + number, 1 + number % 3).parse().unwrap()
}

fn check(store: &MemoryStore, limit: &Limit, key: &str, at: Time) -> Result<Decision, StoreError> {
    let policy = Name::new("throttle").unwrap();
    let subject = Subject::from(Key::new(key.as_bytes()).unwrap());
    let items = [Item { limit, subject, cost: 1 }];
    store.apply_one(&Op::check(&policy, &items), Some(at))
}

/// Returns how many bytes the states of a thousand keys of a later policy take.
fn bytes_of_a_thousand_keys(store: &MemoryStore, limit: &Limit, at: Time) -> usize {
    let before = store.stats().states.bytes;
    for key in 0..1_000 {
        assert!(check(store, limit, &format!("later-{key}"), at).unwrap().allowed);
    }
    store.stats().states.bytes.saturating_sub(before)
}

/// Once the keys of the first clients have reset, nothing is left of their limits.
#[test]
fn limits_that_no_key_is_under_any_more_make_room_for_others() {
    let clock = Clock::manual();
    let store = MemoryStore::builder().clock(clock.clone()).build().unwrap();
    let limits: Vec<Limit> = (0..LIMITS).map(limit).collect();
    for (number, limit) in limits.iter().enumerate() {
        assert!(check(&store, limit, &format!("client-{number}"), clock.now()).unwrap().allowed);
    }
    let later: Limit = "gcra 1/h burst 7".parse().unwrap();
    let full = bytes_of_a_thousand_keys(&store, &later, clock.now());
    clock.advance(Duration::from_secs(7 * 3_600));
    // Whatever comes next goes through the shards and drops what has reset.
    for number in 0..20_000 {
        let limit = limits.get(number % 10).unwrap();
        let _ = check(&store, limit, &format!("other-{}", number % 5_000), clock.now()).unwrap();
    }
    let after = bytes_of_a_thousand_keys(&store, &later, clock.now());
    assert!(after * 3 < full, "{after} bytes, and {full} while the list was full");
}

/// Every decision is that of the core over a state of its own.
#[test]
fn each_key_is_counted_under_its_limit_while_indices_come_and_go() {
    let store = MemoryStore::builder().build().unwrap();
    let policy = Name::new("throttle").unwrap();
    let limits: Vec<Limit> = (0..LIMITS).map(limit).collect();
    let mut states: HashMap<String, Option<State>> = HashMap::new();
    let (mut random, mut now) = (1_u64, store.clock().now());
    for step in 0..300_000_u64 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(step);
        let number = (random >> 33) % u64::from(LIMITS);
        // Some keys are checked under changing limits.
        let key = format!("key-{}", if random % 7 == 0 { number % 50 } else { number });
        now = now.checked_add(tollgate::Span::from_micros(random >> 60)).unwrap();
        let limit = limits.get(usize::try_from(number).unwrap()).unwrap();
        let items = [Item { limit, subject: Key::new(key.as_bytes()).unwrap().into(), cost: 1 }];
        let state = states.entry(key.clone()).or_default();
        let expected =
            decide(&Op::check(&policy, &items), None, slice::from_mut(state), now).unwrap();
        assert_eq!(check(&store, limit, &key, now).unwrap(), expected.decision, "step {step}");
    }
}

/// How many moments a thread may be ahead of another one: less than a state is kept past its reset.
const MAX_AHEAD: u32 = 50;

/// Two threads use up indices, and each checks keys of its own exactly as often as they allow.
#[test]
fn threads_that_use_up_indices_count_exactly() {
    let store: Arc<MemoryStore> = MemoryStore::builder().build().unwrap();
    let at = store.clock().now();
    let moments = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
    let hammer = |thread: usize| {
        let (store, moments) = (Arc::clone(&store), Arc::clone(&moments));
        move || {
            let [own, other] = [&moments[thread], &moments[1 - thread]];
            for number in 0..3 * LIMITS {
                own.store(number, Ordering::Relaxed);
                while number > other.load(Ordering::Relaxed) + MAX_AHEAD {
                    thread::yield_now();
                }
                let limit = limit(number);
                // Each moment is later than the reset of the one before: its index is free again.
                let micros = u64::from(number) * 10_000;
                let now = at.checked_add(tollgate::Span::from_micros(micros)).unwrap();
                let key = format!("{thread}-{number}");
                let allowed =
                    (0..4).filter(|_| check(&store, &limit, &key, now).unwrap().allowed).count();
                assert_eq!(allowed, 1 + number as usize % 3, "{key}");
            }
            own.store(u32::MAX - MAX_AHEAD, Ordering::Relaxed);
        }
    };
    let threads: Vec<_> = (0..2).map(|thread| thread::spawn(hammer(thread))).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
