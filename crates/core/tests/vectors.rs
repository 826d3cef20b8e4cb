//! The conformance vectors that are not traces: legacy limits and `CL.THROTTLE`. (The traces are
//! part of the contract suite that every store runs.)

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use serde_json::Value;
use tollgate_core::{Act, Decision, Limit, Name, PlainStore, Policy, Request, Span, Time};

const LEGACY: &str = include_str!("../src/contract/vectors/legacy_limits.json");
const CL_THROTTLE: &str = include_str!("../src/contract/vectors/cl_throttle.json");

#[test]
fn legacy_limits_convert_to_the_expected_buckets() {
    let cases: Vec<Value> = serde_json::from_str(LEGACY).unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        let mut line = "legacy".to_owned();
        for (word, field, unit) in [
            ("max", "max", ""),
            ("duration", "duration_ms", "ms"),
            ("min-interval", "min_interval_ms", "ms"),
        ] {
            if let Some(number) = case[field].as_u64() {
                line += &format!(" {word} {number}{unit}");
            }
        }
        line += &format!(" factor {}", case["factor"]);
        let limit: Limit = line.parse().unwrap();
        let every = Span::from_micros(case["every_ms"].as_u64().unwrap() * 1000);
        let bucket = (case["size"].as_u64().unwrap(), case["drip"].as_u64().unwrap(), every);
        assert_eq!(limit.leak(), Some(bucket), "{line}");
    }
}

#[test]
fn legacy_without_a_bound_is_unlimited() {
    for line in [
        "legacy max 5 duration 0s",
        "legacy min-interval 0ms",
        "legacy max 1 duration 0s min-interval 1s",
    ] {
        assert_eq!(line.parse::<Limit>().unwrap().capacity(), None, "{line}");
    }
    let absent: Limit = "legacy max 10 duration 10s min-interval 0s".parse().unwrap();
    assert_eq!(absent.leak(), "legacy max 10 duration 10s".parse::<Limit>().unwrap().leak());
}

/// Returns the reply of `CL.THROTTLE`, whose seconds are the exact wait rounded up.
fn reply(decision: &Decision) -> [i64; 5] {
    let number = |value: u64| i64::try_from(value).unwrap();
    let wait = decision.retry_after.filter(|_| !decision.allowed);
    [
        i64::from(!decision.allowed),
        number(decision.limit.unwrap()),
        number(decision.remaining.unwrap()),
        wait.map_or(-1, |wait| number(wait.as_secs_ceil())),
        number(decision.reset_after.as_secs_ceil()),
    ]
}

#[test]
fn cl_throttle_is_gcra() {
    let vectors: Value = serde_json::from_str(CL_THROTTLE).unwrap();
    for call in vectors["calls"].as_array().unwrap() {
        let burst = call["max_burst"].as_u64().unwrap() + 1;
        let line = format!("gcra {}/{}s burst {burst}", call["count"], call["period_s"]);
        let (store, policy) =
            (PlainStore::default(), Policy::parse(Name::default(), [line]).unwrap());
        for step in call["steps"].as_array().unwrap() {
            let quantity = step["quantity"].as_i64().unwrap();
            let act = match quantity {
                0 => Act::Peek,
                1.. => Act::Check,
                _ => Act::Refund,
            };
            let request = Request::of("k").cost(quantity.unsigned_abs());
            let at = Time::from_micros(step["t_ms"].as_u64().unwrap() * 1000).unwrap();
            let applied = request.with_op(&policy, act, |op| store.apply_one(op, at));
            let decision = applied.unwrap().unwrap();
            let expected: Vec<i64> =
                step["reply"].as_array().unwrap().iter().map(|v| v.as_i64().unwrap()).collect();
            assert_eq!(reply(&decision).as_slice(), expected, "{}: {step}", call["id"]);
        }
    }
}

#[test]
fn rates_that_cl_throttle_rejects_are_invalid_limits() {
    for line in
        ["gcra 0/0s burst 11", "gcra 0/60s burst 11", "gcra 30/0s burst 11", "gcra 30/60s burst x"]
    {
        assert!(line.parse::<Limit>().is_err(), "{line}");
    }
}
