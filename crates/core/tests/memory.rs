//! The memory of the plain store follows the keys in use, not the keys ever seen.

#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use support::TestPolicy;
use tollgate_core::Act;

/// The most entries after a sweep: twice the number from which the store sweeps.
const MAX_ENTRIES: usize = 2 * 65_536;

/// Applies operations of cost one, and returns whether they are allowed.
struct Keys(TestPolicy);

impl Keys {
    fn new(lines: &[&str]) -> Keys {
        Keys(TestPolicy::new(lines))
    }

    fn apply(&self, key: &str, act: Act, id: Option<&str>, micros: u64) -> bool {
        self.0.apply(key, act, 1, id, micros).allowed
    }
}

#[test]
fn states_that_have_reset_are_swept() {
    let keys = Keys::new(&["gcra 1/s burst 1"]);
    for n in 0..1_000_000 {
        keys.apply(&n.to_string(), Act::Check, None, n * 100_000);
    }
    assert!(keys.0.store.len() < MAX_ENTRIES, "{}", keys.0.store.len());
}

#[test]
fn states_that_still_count_are_never_swept() {
    let keys = Keys::new(&["fixed-window 1/year"]);
    for n in 0..200_000_u64 {
        assert!(keys.apply(&n.to_string(), Act::Check, None, n));
    }
    assert_eq!(keys.0.store.len(), 200_000);
    assert!(!keys.apply("0", Act::Check, None, 200_000));
}

/// The steps of a trace need not be sorted: one far ahead must not drop the states of the others.
#[test]
fn a_single_time_far_ahead_sweeps_nothing() {
    let keys = Keys::new(&["gcra 1/min burst 1"]);
    keys.apply("exhausted", Act::Check, None, 0);
    for n in 0..200_000_u64 {
        keys.apply(&n.to_string(), Act::Check, None, if n % 1000 == 0 { 1 << 51 } else { 0 });
    }
    assert!(!keys.apply("exhausted", Act::Check, None, 0));
}

#[test]
fn ids_are_forgotten_on_release_and_after_their_ttl() {
    let keys = Keys::new(&["concurrency 5 ttl 1s", "concurrency 9 ttl 1s"]);
    for n in 0..100_000_u64 {
        keys.apply(&n.to_string(), Act::Check, Some("id"), 0);
        keys.apply(&n.to_string(), Act::Release, Some("id"), 0);
    }
    assert!(keys.0.store.is_empty(), "{}", keys.0.store.len());

    for n in 0..200_000_u64 {
        keys.apply("one", Act::Charge, Some(&n.to_string()), n * 2_000_000);
    }
    assert!(keys.0.store.len() < MAX_ENTRIES, "{}", keys.0.store.len());
}
