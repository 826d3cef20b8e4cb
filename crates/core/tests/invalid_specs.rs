//! A spec made by hand is refused exactly when its line is, with the same error.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use proptest::prelude::*;
use proptest::sample::select;
use tollgate_core::{Decimal, Edge, Limit, LimitError, Period, PeriodUnit, Rate, Span, Spec, Zone};

const HOURLY: Rate = Rate::per_hour(5);
const NONE: Rate = Rate::per_hour(0);
const NO_TIME: Rate = Rate { count: 5, period: Span::ZERO };
const TICK: Span = Span::from_micros(1);

const NUMBER: &str = "a whole number from 1 to 4294967295";
const LENGTH: &str = "a length of time: a unit";
const MILLISECONDS: &str = "whole milliseconds";
const DRAINS: &str = "drains within 2^51 µs (71 years)";

/// An invalid spec, its line, the field and the value of the error, and what is expected.
type Row = (Spec, &'static str, &'static str, &'static str, &'static str);

fn decimal(text: &str) -> Decimal {
    text.parse().unwrap()
}

fn amsterdam() -> Zone {
    Zone::named("Europe/Amsterdam").unwrap()
}

fn gcra(rate: Rate, burst: u32) -> Spec {
    Spec::Gcra { rate, burst }
}

fn leaky(size: u32, drip: u32, every: u64) -> Spec {
    Spec::LeakyBucket { size, drip, every: Span::from_micros(every) }
}

fn legacy(max: Option<u32>, duration: Option<u64>, min_interval: Option<u64>) -> Spec {
    let (duration, min_interval) =
        (duration.map(Span::from_micros), min_interval.map(Span::from_micros));
    Spec::Legacy { max, duration, min_interval }
}

fn fixed(count: u32, period: Period, zone: Zone) -> Spec {
    Spec::FixedWindow { count, period, zone }
}

fn counters(resolution: Span) -> Spec {
    Spec::SlidingCounters { rate: HOURLY, resolution: Some(resolution), edge: Edge::Strict }
}

fn ar1(max: &str, decay: &str, resolution: Span) -> Spec {
    Spec::Ar1 { max: decimal(max), decay: decimal(decay), resolution }
}

fn leases(leases: u32, ttl: u64) -> Spec {
    Spec::Concurrency { leases, ttl: Span::from_micros(ttl) }
}

fn invalid_buckets() -> Vec<Row> {
    let slow = Rate { count: 1, period: Span::MAX };
    let pair = "\"max\" and \"duration\" together";
    let bucket = |rate, burst| Spec::TokenBucket { rate, burst, whole: true };
    vec![
        (gcra(NONE, 1), "gcra 0/h burst 1", "count", "0", NUMBER),
        (gcra(NO_TIME, 5), "gcra 5/0s", "period", "0s", LENGTH),
        (gcra(HOURLY, 0), "gcra 5/h burst 0", "burst", "0", NUMBER),
        (gcra(slow, 2), "gcra 1/2251799813685248us burst 2", "burst", "2", DRAINS),
        (bucket(HOURLY, 0), "token-bucket 5/h burst 0 whole", "burst", "0", NUMBER),
        (bucket(NONE, 1), "token-bucket 0/h burst 1 whole", "count", "0", NUMBER),
        (leaky(0, 1, 1), "leaky-bucket size 0 drip 1 every 1us", "size", "0", NUMBER),
        (leaky(1, 0, 1), "leaky-bucket size 1 drip 0 every 1us", "drip", "0", NUMBER),
        (leaky(1, 1, 0), "leaky-bucket size 1 drip 1 every 0s", "every", "0s", LENGTH),
        (
            leaky(3, 2, 1 << 51),
            "leaky-bucket size 3 drip 2 every 2251799813685248us",
            "size",
            "3",
            DRAINS,
        ),
        (legacy(None, None, None), "legacy", "a parameter of legacy", "", pair),
        (
            legacy(Some(5), None, Some(1000)),
            "legacy max 5 min-interval 1ms",
            "a parameter of legacy",
            "",
            pair,
        ),
        (legacy(Some(0), Some(1000), None), "legacy max 0 duration 1ms", "max", "0", NUMBER),
        (
            legacy(Some(5), Some(5), None),
            "legacy max 5 duration 5us",
            "duration",
            "5us",
            MILLISECONDS,
        ),
        (
            legacy(None, None, Some(1001)),
            "legacy min-interval 1001us",
            "min-interval",
            "1001us",
            MILLISECONDS,
        ),
        (
            legacy(None, None, Some(1000 << 42)),
            "legacy min-interval 4398046511104ms",
            "min-interval",
            "4398046511104ms",
            DRAINS,
        ),
    ]
}

fn invalid_windows() -> Vec<Row> {
    let hour = Period::Calendar(PeriodUnit::Hour);
    let long = Period::Length(Span::from_micros((1 << 50) + 1));
    let hours = Span::from_micros(7_200_000_000);
    let window = "a window of at most 2^50 µs";
    let shorter = "a resolution no longer than the window";
    vec![
        (
            fixed(0, Period::DAY, amsterdam()),
            "fixed-window 0/day tz Europe/Amsterdam",
            "count",
            "0",
            NUMBER,
        ),
        (
            fixed(5, Period::Length(Span::ZERO), Zone::UTC),
            "fixed-window 5/0s",
            "period",
            "0s",
            LENGTH,
        ),
        (
            fixed(5, Period::HOUR, amsterdam()),
            "fixed-window 5/h tz Europe/Amsterdam",
            "tz",
            "Europe/Amsterdam",
            "no time zone",
        ),
        (fixed(5, hour, Zone::UTC), "fixed-window 5/h", "period", "h", "day, week, month or year"),
        (
            fixed(5, long, Zone::UTC),
            "fixed-window 5/1125899906842625us",
            "period",
            "1125899906842625us",
            window,
        ),
        (Spec::RequestWindow { rate: NONE }, "request-window 0/h", "count", "0", NUMBER),
        (Spec::SlidingLog { rate: NO_TIME }, "sliding-log 5/0s", "period", "0s", LENGTH),
        (Spec::SlidingWindow { rate: NO_TIME }, "sliding-window 5/0s", "period", "0s", LENGTH),
        (counters(Span::ZERO), "sliding-counters 5/h resolution 0s", "resolution", "0s", LENGTH),
        (counters(hours), "sliding-counters 5/h resolution 2h", "resolution", "2h", shorter),
    ]
}

fn invalid_others() -> Vec<Row> {
    let decay = "a decimal from 1.001 to 4294967295";
    let (years, text) = (u64::MAX, "18446744073709551615us");
    vec![
        (ar1("2", "2", Span::ZERO), "ar1 max 2 decay 2 resolution 0s", "resolution", "0s", LENGTH),
        (
            ar1("0.9", "2", TICK),
            "ar1 max 0.9 decay 2 resolution 1us",
            "max",
            "0.9",
            "a decimal from 1 to 1000000",
        ),
        (ar1("2", "1", TICK), "ar1 max 2 decay 1 resolution 1us", "decay", "1", decay),
        (leases(0, 1), "concurrency 0 ttl 1us", "leases", "0", NUMBER),
        (leases(1, 0), "concurrency 1 ttl 0s", "ttl", "0s", LENGTH),
        (
            leases(1, years),
            "concurrency 1 ttl 18446744073709551615us",
            "ttl",
            text,
            "at most 2^51 µs",
        ),
    ]
}

#[test]
fn an_invalid_spec_is_refused_with_its_line_field_value_and_what_is_expected() {
    for table in [invalid_buckets(), invalid_windows(), invalid_others()] {
        for (spec, line, field, value, expected) in table {
            let error = Limit::new(spec).expect_err(line);
            assert_eq!((error.line(), error.column()), (line, None));
            assert_eq!((error.field(), error.value()), (field, value), "{line}");
            let text = error.to_string();
            assert!(text.starts_with(&format!("limit {line:?}: {field} ")), "{text}");
            assert!(text.split_once("; expected ").unwrap().1.contains(expected), "{text}");
        }
    }
}

/// Asserts that the error of a spec is that of its line, except for the column.
fn assert_same(of_spec: &LimitError, of_line: &LimitError) {
    let column = format!(", column {}", of_line.column().unwrap() + 1);
    assert_eq!(of_spec.to_string(), of_line.to_string().replacen(&column, "", 1));
    assert_eq!((of_spec.field(), of_spec.value()), (of_line.field(), of_line.value()));
}

fn count() -> impl Strategy<Value = u32> {
    select(vec![0, 1, 1, 2, 5, 60, 5000, u32::MAX])
}

fn span() -> impl Strategy<Value = Span> {
    const MAX: u64 = 1 << 51;
    let (second, week) = (1_000_000, 604_800_000_000);
    let edges = vec![
        0,
        1,
        999,
        1_000,
        second,
        60 * second,
        week / 7,
        week,
        MAX / 2,
        MAX / 2 + 1,
        MAX,
        MAX + 1,
        u64::MAX,
    ];
    prop_oneof![select(edges), 0..week].prop_map(Span::from_micros)
}

fn number() -> impl Strategy<Value = Decimal> {
    let edges = [
        "0",
        "0.999999999",
        "1",
        "1.0009",
        "1.001",
        "2",
        "99.9",
        "1000000",
        "1000000.1",
        "4294967295",
        "4294967296",
    ];
    select(edges.map(decimal).to_vec())
}

fn rate() -> impl Strategy<Value = Rate> {
    (count(), span()).prop_map(|(count, period)| Rate { count, period })
}

fn period() -> impl Strategy<Value = Period> {
    let calendar = select(vec![Period::DAY, Period::WEEK, Period::MONTH, Period::YEAR]);
    prop_oneof![span().prop_map(Period::Length), calendar]
}

/// Generates specs of every algorithm, most of them invalid.
fn spec() -> impl Strategy<Value = Spec> {
    use proptest::option::of;
    let edge = select(vec![Edge::Strict, Edge::Lenient]);
    let zone = select(vec![Zone::UTC, amsterdam()]);
    prop_oneof![
        (rate(), count()).prop_map(|(rate, burst)| Spec::Gcra { rate, burst }),
        (rate(), count(), any::<bool>()).prop_map(|(rate, burst, whole)| Spec::TokenBucket {
            rate,
            burst,
            whole
        }),
        (count(), count(), span()).prop_map(|(size, drip, every)| Spec::LeakyBucket {
            size,
            drip,
            every
        }),
        (of(count()), of(span()), of(span())).prop_map(|(max, duration, min_interval)| {
            Spec::Legacy { max, duration, min_interval }
        }),
        (count(), period(), zone).prop_map(|(count, period, zone)| Spec::FixedWindow {
            count,
            period,
            zone
        }),
        rate().prop_map(|rate| Spec::RequestWindow { rate }),
        rate().prop_map(|rate| Spec::SlidingLog { rate }),
        (rate(), of(span()), edge).prop_map(|(rate, resolution, edge)| {
            Spec::SlidingCounters { rate, resolution, edge }
        }),
        rate().prop_map(|rate| Spec::SlidingWindow { rate }),
        (number(), number(), span()).prop_map(|(max, decay, resolution)| Spec::Ar1 {
            max,
            decay,
            resolution
        }),
        (count(), span()).prop_map(|(leases, ttl)| Spec::Concurrency { leases, ttl }),
        Just(Spec::Unlimited),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(1),
        cases: 2000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_spec_is_checked_as_its_line_is(spec in spec()) {
        match Limit::new(spec) {
            Ok(limit) => prop_assert_eq!(limit.to_string().parse::<Limit>().unwrap(), limit),
            Err(error) => match error.line().parse::<Limit>() {
                Ok(limit) => prop_assert!(false, "{} is accepted, but {}", limit, error),
                Err(of_line) => assert_same(&error, &of_line),
            },
        }
    }
}
