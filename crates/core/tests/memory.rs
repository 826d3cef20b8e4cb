//! What the plain store keeps: the keys in use, not the keys ever seen.

#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use support::Asker;
use tollgate_core::Act;

/// Entries that are not yet worth sweeping, twice over.
const SOME: usize = 2 * 65_536;

/// Asks each key with a cost of one; whether it may pass.
struct Keys(Asker);

impl Keys {
    fn new(lines: &[&str]) -> Keys {
        Keys(Asker::new(lines))
    }

    fn ask(&self, key: &str, act: Act, id: Option<&str>, micros: u64) -> bool {
        self.0.ask(key, act, 1, id, micros).allowed
    }
}

#[test]
fn what_has_reset_is_swept_out() {
    let keys = Keys::new(&["gcra 1/s burst 1"]);
    for n in 0..1_000_000 {
        keys.ask(&n.to_string(), Act::Check, None, n * 100_000);
    }
    assert!(keys.0.store.len() < SOME, "{}", keys.0.store.len());
}

#[test]
fn what_still_counts_is_never_swept_out() {
    let keys = Keys::new(&["fixed-window 1/year"]);
    for n in 0..200_000_u64 {
        assert!(keys.ask(&n.to_string(), Act::Check, None, n));
    }
    assert_eq!(keys.0.store.len(), 200_000);
    assert!(!keys.ask("0", Act::Check, None, 200_000));
}

/// Steps of a trace need not be sorted: one far ahead must not make the others forget.
#[test]
fn one_step_far_ahead_sweeps_nothing_out() {
    let keys = Keys::new(&["gcra 1/min burst 1"]);
    keys.ask("exhausted", Act::Check, None, 0);
    for n in 0..200_000_u64 {
        keys.ask(&n.to_string(), Act::Check, None, if n % 1000 == 0 { 1 << 51 } else { 0 });
    }
    assert!(!keys.ask("exhausted", Act::Check, None, 0));
}

#[test]
fn ids_are_forgotten_with_their_leases_and_with_time() {
    let keys = Keys::new(&["concurrency 5 ttl 1s", "concurrency 9 ttl 1s"]);
    for n in 0..100_000_u64 {
        keys.ask(&n.to_string(), Act::Check, Some("id"), 0);
        keys.ask(&n.to_string(), Act::Release, Some("id"), 0);
    }
    assert!(keys.0.store.is_empty(), "{}", keys.0.store.len());

    for n in 0..200_000_u64 {
        keys.ask("one", Act::Charge, Some(&n.to_string()), n * 2_000_000);
    }
    assert!(keys.0.store.len() < SOME, "{}", keys.0.store.len());
}
