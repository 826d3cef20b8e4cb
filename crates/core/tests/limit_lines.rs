//! The limit line: how it parses and prints, and what is rejected.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

use proptest::prelude::*;
use tollgate_core::contract::{ALGORITHMS, limit_line};
use tollgate_core::{Limit, LimitError, Name};

fn limit(line: &str) -> Limit {
    line.parse().unwrap_or_else(|error: LimitError| panic!("{error}"))
}

#[test]
fn every_example_of_the_documentation_parses_and_prints_its_canonical_form() {
    let table = [
        ("gcra              30/min burst 16", "gcra 30/min burst 16"),
        ("gcra 30/60s", "gcra 30/min"),
        ("gcra 30/min burst 30", "gcra 30/min"),
        ("token-bucket      100/s burst 200", "token-bucket 100/s burst 200"),
        ("token-bucket      100/10s burst 100 whole", "token-bucket 100/10s whole"),
        ("leaky-bucket      size 10 drip 2 every 1s", "leaky-bucket size 10 drip 2 every 1s"),
        ("leaky-bucket every 60s size 10", "leaky-bucket size 10 drip 1 every 1min"),
        ("leaky-bucket size 10", "leaky-bucket size 10 drip 1 every 1s"),
        (
            "legacy            max 10 duration 5s min-interval 1s",
            "legacy max 10 duration 5s min-interval 1s",
        ),
        ("legacy min-interval 0s", "legacy min-interval 0s"),
        ("fixed-window      5000/h", "fixed-window 5000/h"),
        ("fixed-window 5/24h", "fixed-window 5/1day"),
        ("fixed-window 5/7day", "fixed-window 5/1week"),
        ("fixed-window 5/w", "fixed-window 5/week"),
        ("fixed-window 5/year tz UTC", "fixed-window 5/year"),
        (
            "fixed-window      1000/day tz Europe/Amsterdam",
            "fixed-window 1000/day tz Europe/Amsterdam",
        ),
        ("fixed-window 1000/day tz europe/amsterdam", "fixed-window 1000/day tz Europe/Amsterdam"),
        ("request-window    5000/hour", "request-window 5000/h"),
        ("sliding-log       500/d", "sliding-log 500/day"),
        ("sliding-counters  5/h resolution 10m", "sliding-counters 5/h resolution 10min"),
        ("sliding-counters 5/h edge strict", "sliding-counters 5/h"),
        (
            "sliding-counters 5/h edge lenient resolution 1sec",
            "sliding-counters 5/h resolution 1s edge lenient",
        ),
        ("sliding-window    100/min", "sliding-window 100/min"),
        ("ar1               max 1.20 decay 2.0 resolution 1s", "ar1 max 1.2 decay 2 resolution 1s"),
        ("concurrency       20 ttl 30s", "concurrency 20 ttl 30s"),
        ("unlimited", "unlimited"),
        ("gcra 1/s per ip factor 0.50 count-denied", "gcra 1/s count-denied factor 0.5 per ip"),
        ("gcra 1/s per all", "gcra 1/s per all"),
        ("gcra 90000/min of tokens", "gcra 90000/min of tokens"),
        ("gcra 90000/min per user of tokens", "gcra 90000/min of tokens per user"),
        (
            "fixed-window 9/day of bytes factor 2 per ip tz Asia/Kolkata count-denied",
            "fixed-window 9/day tz Asia/Kolkata count-denied factor 2 of bytes per ip",
        ),
        ("concurrency 20 of jobs ttl 30s", "concurrency 20 ttl 30s of jobs"),
        ("unlimited of tokens", "unlimited of tokens"),
        ("gcra 1/s of per per of", "gcra 1/s of per per of"),
        (
            "gcra 1/s per burst of count-denied burst 5",
            "gcra 1/s burst 5 of count-denied per burst",
        ),
        ("token-bucket 1/s per whole", "token-bucket 1/s per whole"),
        ("  gcra\t1/1500ms  ", "gcra 1/1500ms"),
        ("gcra 4294967295/s", "gcra 4294967295/s"),
    ];
    for (line, canonical) in table {
        assert_eq!(limit(line).to_string(), canonical, "{line}");
        assert_eq!(limit(canonical), limit(line), "{line}");
    }
}

/// Each invalid line, the column of the error, and a part of the message.
const INVALID: [(&str, usize, &str); 82] = [
    ("", 0, "algorithm is missing; expected gcra, token-bucket"),
    ("   ", 0, "algorithm is missing"),
    ("gcr 1/s", 0, "(did you mean \"gcra\"?)"),
    ("GCRA 1/s", 0, "(did you mean \"gcra\"?)"),
    ("tocken-bucket 1/s", 0, "(did you mean \"token-bucket\"?)"),
    ("sliding 1/s", 0, "did you mean \"sliding-"),
    ("nonsense", 0, "algorithm \"nonsense\" is not accepted; expected gcra"),
    ("gcra", 4, "rate is missing; expected a count and a period, such as 30/min"),
    ("gcra 30", 5, "rate \"30\" is not accepted"),
    ("gcra 30/", 8, "period is missing; expected a unit"),
    ("gcra /s", 5, "count is missing; expected a whole number from 1 to 4294967295"),
    ("gcra 0/s", 5, "count \"0\" is not accepted"),
    ("gcra -1/s", 5, "count \"-1\" is not accepted"),
    ("gcra +1/s", 5, "count \"+1\" is not accepted"),
    ("gcra 1.5/s", 5, "count \"1.5\" is not accepted"),
    ("gcra 1e3/s", 5, "count \"1e3\" is not accepted"),
    ("gcra 4294967296/s", 5, "count \"4294967296\" is not accepted"),
    ("gcra 99999999999999999999999/s", 5, "count \"99999999999999999999999\" is not accepted"),
    ("gcra ٣/s", 5, "count \"٣\" is not accepted"),
    ("gcra 1/0s", 7, "period \"0s\" is not accepted"),
    ("gcra 1/-1s", 7, "period \"-1s\" is not accepted"),
    ("gcra 1/1.5s", 7, "period \"1.5s\" is not accepted"),
    ("gcra 1/minn", 7, "(did you mean \"min\"?)"),
    ("gcra 1/month", 7, "period \"month\" is not accepted"),
    ("gcra 1/99999999999999999999s", 7, "is not accepted"),
    ("gcra 1/9999999999999999s", 7, "period \"9999999999999999s\" is not accepted"),
    ("gcra 1/s burst", 9, "the value of burst is missing"),
    ("gcra 1/s burst 0", 15, "burst \"0\" is not accepted"),
    ("gcra 1/s burst x", 15, "burst \"x\" is not accepted"),
    ("gcra 1/s burst 5 burst 6", 17, "word \"burst\" is not accepted; expected it only once"),
    ("gcra 1/s bust 5", 9, "(did you mean \"burst\"?)"),
    ("gcra 1/s whole", 9, "word \"whole\" is not accepted; expected one of burst, count-denied"),
    ("gcra 1/s tz UTC", 9, "word \"tz\" is not accepted"),
    ("gcra 1/day burst 213505", 17, "burst \"213505\" is not accepted"),
    ("gcra 1/s 5", 9, "word \"5\" is not accepted"),
    ("gcra 1/s factor -1", 16, "factor \"-1\" is not accepted"),
    ("gcra 1/s factor x", 16, "factor \"x\" is not accepted"),
    ("gcra 1/s factor 1e3", 16, "factor \"1e3\" is not accepted"),
    ("gcra 1/s factor 0.0000000001", 16, "factor \"0.0000000001\" is not accepted"),
    ("gcra 1/s factor 1000001", 16, "factor \"1000001\" is not accepted"),
    ("gcra 1000/s burst 4000000000 factor 0.1", 36, "factor \"0.1\" is not accepted"),
    ("gcra 1/s burst 4000000000 factor 0.1", 15, "burst \"4000000000\" is not accepted"),
    ("gcra 1/000ms", 7, "period \"000ms\" is not accepted"),
    ("leaky-bucket size 4294967295 drip 0", 34, "drip \"0\" is not accepted"),
    ("legacy min-interval 9000week", 20, "min-interval \"9000week\" is not accepted"),
    ("fixed-window 5/h tz UTC", 20, "expected no time zone"),
    ("gcra 1/s per", 9, "the value of per is missing"),
    (
        "gcra 1/s per a:b",
        13,
        "per \"a:b\" is not accepted; expected a name of up to 64 letters, digits, '-', '_' and '.', \
         such as ip or user",
    ),
    ("gcra 1/s per count-denied ip", 26, "word \"ip\" is not accepted"),
    ("gcra 1/s of", 9, "the value of of is missing; expected one after the keyword"),
    (
        "gcra 1/s of a:b",
        12,
        "of \"a:b\" is not accepted; expected a name of up to 64 letters, digits, '-', '_' and '.', \
         such as tokens or bytes",
    ),
    ("gcra 1/s of tokens of bytes", 19, "word \"of\" is not accepted; expected it only once"),
    ("gcra 1/s off tokens", 9, "(did you mean \"of\"?)"),
    ("gcra of tokens", 5, "rate \"of\" is not accepted"),
    ("gcra 1/2251799813685249us", 7, "period \"2251799813685249us\" is not accepted"),
    ("gcra 1/week factor 10000", 19, "factor \"10000\" is not accepted"),
    ("fixed-window 5/day tz Etc/Unknown", 22, "tz \"Etc/Unknown\" is not accepted"),
    ("fixed-window 5/dy", 15, "(did you mean \"day\"?)"),
    ("leaky-bucket", 0, "size is missing; expected it as in \"size 10\""),
    ("leaky-bucket 10", 0, "size is missing; expected it as in \"size 10\""),
    ("leaky-bucket size 4294967295 every 1week", 18, "size \"4294967295\" is not accepted"),
    ("leaky-bucket size 1 every 0s", 26, "every \"0s\" is not accepted"),
    ("legacy", 0, "\"max\" and \"duration\" together, or \"min-interval\" alone"),
    ("legacy max 5", 0, "\"max\" and \"duration\" together"),
    (
        "legacy max 5 duration 5us",
        22,
        "duration \"5us\" is not accepted; expected whole milliseconds",
    ),
    ("fixed-window 5/3month", 15, "(did you mean \"month\"?)"),
    (
        "fixed-window 5/h tz Europe/Amsterdam",
        20,
        "expected no time zone: only the bare units day, week, month",
    ),
    ("fixed-window 5/day tz Europe/Amsterdm", 22, "(did you mean \"Europe/Amsterdam\"?)"),
    ("fixed-window 5/4000week", 15, "expected a window of at most 2^50"),
    (
        "sliding-log 5/h count-denied",
        16,
        "word \"count-denied\" is not accepted; expected sliding-counters instead of sliding-log",
    ),
    (
        "sliding-log 10001/h",
        12,
        "count \"10001\" is not accepted; expected at most 10000, since every request is kept; or \
         sliding-counters",
    ),
    (
        "sliding-counters 20000/day resolution 1s",
        38,
        "expected a resolution that divides the window into fewer than 10000 slots",
    ),
    (
        "sliding-counters 5/day resolution 1s count-denied",
        34,
        "expected a resolution that divides the window into fewer than 10000 slots",
    ),
    ("concurrency 10001 ttl 30s", 12, "expected a whole number from 1 to 10000"),
    ("sliding-log 10000/h factor 0.9", 27, "that keeps the limit within its bounds"),
    ("sliding-counters 5/h resolution 2h", 32, "expected a resolution no longer than the window"),
    (
        "sliding-counters 5/h edge sharp",
        26,
        "edge \"sharp\" is not accepted; expected strict or lenient",
    ),
    ("ar1 max 0.5 decay 2 resolution 1s", 8, "max \"0.5\" is not accepted"),
    (
        "ar1 max 10 decay 1 resolution 1s",
        17,
        "decay \"1\" is not accepted; expected a decimal from 1.001",
    ),
    ("ar1 max 10 decay 1.001 resolution 4000week", 34, "resolution \"4000week\" is not accepted"),
    ("concurrency 20", 0, "ttl is missing; expected it as in \"ttl 30s\""),
    ("unlimited 5", 10, "word \"5\" is not accepted"),
];

#[test]
fn every_error_has_its_field_column_and_what_is_expected() {
    for (line, column, message) in INVALID {
        let error = line.parse::<Limit>().expect_err(line);
        let text = error.to_string();
        assert!(text.contains(message), "{line}: {text}");
        assert!(text.starts_with(&format!("limit {line:?}")), "{line}: {text}");
        assert_eq!(error.column(), Some(column), "{line}: {text}");
    }
}

#[test]
fn the_unit_is_part_of_the_limit_and_stays_when_it_is_scaled() {
    let tokens = limit("gcra 90000/min of tokens per user");
    assert_eq!(tokens.unit().map(Name::as_str), Some("tokens"));
    assert_eq!(limit("gcra 90000/min per user").unit(), None);
    let half = tokens.scaled("2".parse().unwrap()).unwrap();
    assert_eq!(half.to_string(), "gcra 90000/min factor 2 of tokens per user");
}

#[test]
fn state_is_kept_only_between_limits_of_one_rule_and_subject() {
    let kept = |old: &str, new: &str| limit(new).keeps_state_of(&limit(old));
    assert!(kept("gcra 5/s of tokens", "gcra 9/min burst 4 of tokens"));
    assert!(kept("gcra 5/s of tokens per ip", "token-bucket 5/s of tokens per ip"));
    // State belongs to the rule and the subject, not to the numbers or their unit.
    assert!(kept("gcra 5/s of tokens", "gcra 5/s") && kept("gcra 5/s", "gcra 5/s of tokens"));
    for new in ["gcra 5/s of tokens per ip", "sliding-log 5/s of tokens"] {
        assert!(!kept("gcra 5/s of tokens", new), "{new}");
        assert!(!kept(new, "gcra 5/s of tokens"), "{new}");
    }
}

#[test]
fn a_line_that_is_too_long_is_rejected_before_parsing() {
    let error = format!("gcra 1/s {}", "x".repeat(2000)).parse::<Limit>().unwrap_err();
    assert!(error.to_string().contains("at most 1024 bytes"), "{error}");
}

#[test]
fn bounds_are_exact() {
    let fits = |line: String| line.parse::<Limit>().is_ok();
    let (half, all) = (1_u64 << 50, 1_u64 << 51);
    assert!(fits(format!("fixed-window 1/{half}us")));
    assert!(!fits(format!("fixed-window 1/{}us", half + 1)));
    assert!(fits(format!("gcra 1/{all}us")));
    assert!(!fits(format!("gcra 1/{}us", all + 1)));
    assert!(fits(format!("gcra 2/{all}us burst 2")));
    assert!(!fits(format!("gcra 2/{all}us burst 3")));
    assert!(fits(format!("leaky-bucket size 2 every {half}us")));
    assert!(!fits(format!("leaky-bucket size 3 every {half}us")));
    assert!(fits(format!("concurrency 1 ttl {all}us")));
    assert!(!fits(format!("concurrency 1 ttl {}us", all + 1)));
}

/// Generates valid lines, with the words that any limit may have in any order.
fn line() -> impl Strategy<Value = String> {
    let words = vec!["factor 0.50", "of tokens", "per user", "of per", "per of", "count-denied"];
    let line = prop::sample::select(&ALGORITHMS[..]).prop_flat_map(limit_line);
    let line = (line, prop::sample::subsequence(words, 0..4).prop_shuffle())
        .prop_map(|(line, words)| format!("{line} {}", words.join(" ")));
    line.prop_filter("twice the same word", |line| line.parse::<Limit>().is_ok())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn a_printed_limit_parses_to_the_same_limit(
        line in line()
    ) {
        let limit = limit(&line);
        let printed = limit.to_string();
        prop_assert_eq!(&printed.parse::<Limit>().unwrap(), &limit);
        prop_assert_eq!(printed.parse::<Limit>().unwrap().to_string(), printed);
    }

    #[test]
    fn parsing_arbitrary_text_does_not_panic(line in "\\PC{0,60}") {
        let _ = line.parse::<Limit>();
    }

    #[test]
    fn parsing_likely_text_does_not_panic(
        words in prop::collection::vec(prop_oneof![
            prop::sample::select(&ALGORITHMS[..]).prop_map(str::to_owned),
            prop::sample::select(vec![
                "burst", "whole", "size", "drip", "every", "max", "decay", "resolution", "edge", "tz",
                "ttl", "factor", "of", "per", "count-denied", "legacy", "duration", "min-interval", "UTC",
            ]).prop_map(str::to_owned),
            any::<i64>().prop_map(|n| n.to_string()),
            (any::<u64>(), prop::sample::select(vec!["us", "s", "week", "month", "x"]))
                .prop_map(|(n, unit)| format!("{n}/{n}{unit}")),
            (0_u32..100, prop::sample::select(vec!["us", "s", "week", "month", ""]))
                .prop_map(|(n, unit)| format!("{n}/{unit}")),
            (any::<u64>(), 0_u32..12).prop_map(|(n, d)| format!("{n}.{}", "7".repeat(d as usize))),
        ], 0..8)
    ) {
        if let Ok(limit) = words.join(" ").parse::<Limit>() {
            prop_assert_eq!(limit.to_string().parse::<Limit>().unwrap(), limit);
        }
    }
}
