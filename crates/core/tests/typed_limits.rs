//! Limits made without a line: the same limits, with the same errors.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::select;
use tollgate_core::contract::{ALGORITHMS, limit_line};
use tollgate_core::{Decimal, Limit, LimitError, Name, Period, Rate};

const SECOND: Duration = Duration::from_secs(1);

fn parsed(line: &str) -> Limit {
    line.parse().unwrap_or_else(|error: LimitError| panic!("{error}"))
}

fn decimal(text: &str) -> Decimal {
    text.parse().unwrap()
}

#[test]
fn each_constructor_makes_the_limit_of_its_line() {
    let table = [
        (Limit::gcra(Rate::per_second(100), 200), "gcra 100/s burst 200"),
        (Limit::gcra(Rate::per_minute(30), 30), "gcra 30/min"),
        (Limit::token_bucket(Rate::per_hour(9), 1), "token-bucket 9/h burst 1"),
        (Limit::leaky_bucket(10, 2, SECOND), "leaky-bucket size 10 drip 2 every 1s"),
        (Limit::fixed_window(9, Period::SECOND), "fixed-window 9/s"),
        (Limit::fixed_window(9, Period::MINUTE), "fixed-window 9/min"),
        (Limit::fixed_window(5000, Period::HOUR), "fixed-window 5000/h"),
        (Limit::fixed_window(9, Period::DAY), "fixed-window 9/day"),
        (Limit::fixed_window(9, Period::WEEK), "fixed-window 9/week"),
        (Limit::fixed_window(9, Period::MONTH), "fixed-window 9/month"),
        (Limit::fixed_window(9, Period::YEAR), "fixed-window 9/year"),
        (Limit::fixed_window(9, Period::new(86_400 * SECOND).unwrap()), "fixed-window 9/1day"),
        (Limit::request_window(Rate::per_day(7)), "request-window 7/day"),
        (Limit::sliding_log(Rate::new(7, 90 * SECOND).unwrap()), "sliding-log 7/90s"),
        (Limit::sliding_counters(Rate::per_hour(5), None), "sliding-counters 5/h"),
        (
            Limit::sliding_counters(Rate::per_hour(5), Some(600 * SECOND)),
            "sliding-counters 5/h resolution 10min",
        ),
        (Limit::sliding_window(Rate::per_minute(100)), "sliding-window 100/min"),
        (Limit::ar1(decimal("1.2"), 2.into(), SECOND), "ar1 max 1.2 decay 2 resolution 1s"),
        (Limit::concurrency(20, 30 * SECOND), "concurrency 20 ttl 30s"),
        (Ok(Limit::unlimited()), "unlimited"),
        (
            Limit::unlimited().with_count_denied().and_then(|limit| limit.with_unit("tokens")),
            "unlimited count-denied of tokens",
        ),
        (
            parsed("gcra 1/s count-denied factor 2 of bytes per ip").with_per("burst"),
            "gcra 1/s count-denied factor 2 of bytes per burst",
        ),
        (parsed("gcra 1/s of bytes per ip").with_unit("of"), "gcra 1/s of of per ip"),
    ];
    for (typed, line) in table {
        let typed = typed.unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(typed, parsed(line));
        assert_eq!(typed.to_string(), line);
    }
}

#[test]
fn durations_are_not_rounded() {
    let (fine, long) = (Duration::from_nanos(1_500), Duration::MAX);
    let expected = "expected a whole number of microseconds, at most 2^51 (71 years)";
    for (error, line, field, value) in [
        (Rate::new(5, fine).unwrap_err(), "5/1.5µs", "period", "1.5µs"),
        (Period::new(fine).unwrap_err(), "period 1.5µs", "period", "1.5µs"),
        (
            Limit::leaky_bucket(1, 1, fine).unwrap_err(),
            "leaky-bucket every 1.5µs",
            "every",
            "1.5µs",
        ),
        (
            Limit::sliding_counters(Rate::per_hour(5), Some(fine)).unwrap_err(),
            "sliding-counters resolution 1.5µs",
            "resolution",
            "1.5µs",
        ),
        (
            Limit::ar1(2.into(), 2.into(), fine).unwrap_err(),
            "ar1 resolution 1.5µs",
            "resolution",
            "1.5µs",
        ),
        (Limit::concurrency(1, fine).unwrap_err(), "concurrency ttl 1.5µs", "ttl", "1.5µs"),
        (
            Limit::concurrency(1, long).unwrap_err(),
            "concurrency ttl 18446744073709551615.999999999s",
            "ttl",
            "18446744073709551615.999999999s",
        ),
    ] {
        assert_eq!((error.line(), error.field(), error.value()), (line, field, value));
        assert!(error.to_string().ends_with(expected), "{error}");
    }
    let year = Duration::from_secs(366 * 86_400);
    assert_eq!(Limit::concurrency(1, 72 * year).unwrap_err().field(), "ttl");
}

#[test]
fn setters_fail_as_their_words_in_a_line_do() {
    let limit = || parsed("sliding-log 5/h of bytes per ip");
    for (error, line, field, value) in [
        (limit().with_per("a b"), "sliding-log 5/h of bytes per a b", "per", "a b"),
        (limit().with_per(""), "sliding-log 5/h of bytes per ", "per", ""),
        (limit().with_unit("a:b"), "sliding-log 5/h per ip of a:b", "of", "a:b"),
        (
            limit().with_count_denied(),
            "sliding-log 5/h count-denied of bytes per ip",
            "word",
            "count-denied",
        ),
    ] {
        let error = error.expect_err(line);
        assert_eq!((error.line(), error.field(), error.value()), (line, field, value));
        let of_line = line.parse::<Limit>().expect_err(line);
        let expected =
            |error: &LimitError| error.to_string().rsplit_once("; ").unwrap().1.to_owned();
        if !matches!(value, "" | "a b") {
            assert_eq!(expected(&error), expected(&of_line));
        }
    }
}

/// Makes the limit again from what it says about itself.
fn rebuilt(limit: &Limit) -> Result<Limit, LimitError> {
    let mut typed = Limit::new(limit.spec().clone())?.scaled(limit.factor())?;
    if limit.counts_denied() {
        typed = typed.with_count_denied()?;
    }
    if let Some(unit) = limit.unit().map(Name::as_str) {
        typed = typed.with_unit(unit)?;
    }
    match limit.per().map(Name::as_str) {
        Some(name) => typed.with_per(name),
        None => Ok(typed),
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(1),
        cases: 2000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_parsed_limit_can_be_made_again_from_its_parts(
        line in select(&ALGORITHMS[..]).prop_flat_map(limit_line),
        words in select(vec!["", " factor 2.5", " of tokens", " per user factor 0", " of a count-denied per b"]),
    ) {
        // Not every algorithm accepts all words, nor every number a factor.
        if let Ok(limit) = format!("{line}{words}").parse::<Limit>() {
            let typed = rebuilt(&limit).unwrap();
            prop_assert_eq!(typed.to_string(), limit.to_string());
            prop_assert_eq!(typed, limit);
        }
    }
}

/// How an API accepts lines and limits alike.
fn limits<L>(limits: impl IntoIterator<Item = L>) -> Result<Vec<Limit>, LimitError>
where
    L: TryInto<Limit>,
    L::Error: Into<LimitError>,
{
    limits.into_iter().map(|limit| limit.try_into().map_err(Into::into)).collect()
}

#[test]
fn an_api_can_accept_lines_and_limits_alike() {
    let expected = vec![parsed("gcra 5/s"), parsed("sliding-log 9/h per ip")];
    let lines = ["gcra 5/s", "sliding-log 9/h per ip"];
    let strings = lines.map(str::to_owned).to_vec();
    assert_eq!(limits(lines).unwrap(), expected);
    assert_eq!(limits(&strings).unwrap(), expected);
    assert_eq!(limits(strings).unwrap(), expected);
    assert_eq!(limits(expected.clone()).unwrap(), expected);
    assert_eq!(limits([Limit::unlimited()]).unwrap(), [Limit::unlimited()]);
    assert_eq!(
        limits(["gcra 5/s", "gcr 5/s"]).unwrap_err(),
        "gcr 5/s".parse::<Limit>().unwrap_err()
    );
}
