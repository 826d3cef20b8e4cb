//! Greedy clients never exceed the maximum that `explain` prints, and nearly reach it.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use proptest::prelude::*;
use tollgate_core::{Act, Limit, Name, PlainStore, Policy, Request, Time};
use tollgate_sim::Throughput;

/// Takes all that remains at each instant. Returns instants and amounts.
fn greedy(limit: &Limit, times: &[u64]) -> Vec<(u64, u64)> {
    let policy = Policy::new(Name::default(), vec![limit.clone()]);
    let store = PlainStore::default();
    let apply = |act, cost, at| {
        let at = Time::from_micros(at).unwrap();
        let request = Request::of("key").cost(cost);
        request.with_op(&policy, act, |op| store.apply_one(op, at)).unwrap().unwrap()
    };
    let passed = times.iter().map(|at| {
        let remaining = apply(Act::Peek, 1, *at).remaining.unwrap();
        assert!(apply(Act::Check, remaining, *at).allowed);
        (*at, remaining)
    });
    passed.collect()
}

/// Returns the maximum that passed within an interval that begins at any of the instants.
fn max_within(passed: &[(u64, u64)], length: u64) -> u64 {
    let from = |start: usize| {
        let end = passed[start].0 + length;
        passed[start..].iter().take_while(|(at, _)| *at < end).map(|(_, cost)| cost).sum()
    };
    (0..passed.len()).map(from).max().unwrap_or(0)
}

fn line() -> impl Strategy<Value = String> {
    let rate = (1_u32..12, 1_u64..5).prop_map(|(count, ms)| format!("{count}/{ms}ms"));
    let names = prop::sample::select(vec![
        "gcra R burst 3",
        "gcra R",
        "token-bucket R burst 7 whole",
        "fixed-window R",
        "request-window R",
        "sliding-log R",
        "sliding-counters R resolution 300us",
        "sliding-counters R resolution 300us edge lenient",
        "sliding-counters R resolution 700us edge lenient",
        "sliding-counters R resolution 1ms edge lenient",
        "sliding-window R",
        "leaky-bucket size 5 drip 2 every 1ms",
        "leaky-bucket size 2 drip 5 every 1ms",
        "ar1 max 9.5 decay 2 resolution 1ms",
        "ar1 max 1.2 decay 3 resolution 1ms",
    ]);
    (names, rate).prop_map(|(line, rate)| line.replace('R', &rate))
}

/// Instants around the edges of windows, and anywhere.
fn times() -> impl Strategy<Value = Vec<u64>> {
    let edge = (0_u64..40, 0_u64..3).prop_map(|(ms, off)| (ms * 1000 + off).saturating_sub(1));
    let mut times =
        prop::collection::vec(prop_oneof![2 => edge, 1 => 0_u64..40_000], 1..80).boxed();
    times = times
        .prop_map(|mut times| {
            times.sort_unstable();
            times
        })
        .boxed();
    times
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn maximum_is_never_exceeded(line in line(), times in times()) {
        let limit: Limit = line.parse().unwrap();
        let max = Throughput::new(&limit).unwrap();
        let passed = greedy(&limit, &times);
        let length = max.length.as_micros();
        if max.anywhere {
            prop_assert!(max_within(&passed, length) <= max.in_one, "{line}: {passed:?}");
            prop_assert!(max_within(&passed, 2 * length) <= max.in_two, "{line}: {passed:?}");
        } else if !line.starts_with("request-window") {
            // Fixed windows: counted from their own start.
            for window in 0..40_000 / length + 1 {
                let within = |windows: u64| -> u64 {
                    let window = window * length..(window + windows) * length;
                    passed.iter().filter(|(at, _)| window.contains(at)).map(|(_, cost)| cost).sum()
                };
                prop_assert!(within(1) <= max.in_one, "{line}: {passed:?}");
                prop_assert!(within(2) <= max.in_two, "{line}: {passed:?}");
            }
        }
    }
}

#[test]
fn maximum_is_reached() {
    let every_tick: Vec<u64> = (0..4000).collect();
    for line in ["gcra 5/ms burst 3", "sliding-log 5/ms", "fixed-window 5/ms", "token-bucket 5/ms"]
    {
        let limit: Limit = line.parse().unwrap();
        let max = Throughput::new(&limit).unwrap();
        let passed = greedy(&limit, &every_tick);
        assert_eq!(max_within(&passed, max.length.as_micros()), max.in_one, "{line}");
    }
    // A slot of 7 ms that is dropped up to 7 ms early, in a window of 10 ms.
    let limit: Limit = "sliding-counters 3/10ms resolution 7ms edge lenient".parse().unwrap();
    let max = Throughput::new(&limit).unwrap();
    assert_eq!((max.in_one, max.in_two), (6, 12));
    let passed = greedy(&limit, &[6_999, 10_000, 17_000, 24_000]);
    assert_eq!((max_within(&passed, 10_000), max_within(&passed, 20_000)), (6, 12));
    // The boundary exploit: all of one window at its end, all of the next at its start.
    let limit: Limit = "fixed-window 5/ms".parse().unwrap();
    let max = Throughput::new(&limit).unwrap();
    assert_eq!(max_within(&greedy(&limit, &[999, 1000]), 2), max.in_two);
}
