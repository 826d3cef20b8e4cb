//! What is said of limits of all kinds, and of several at once: word for word.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use support::{KEY, assert_told, checks, lines, scene};
use tollgate_core::{Key, Name, Policy};
use tollgate_http::Dialect::{self, Draft6, Draft7, Draft8, Ietf, Leaky, XEpoch};
use tollgate_http::RateLimitHeaders;

#[test]
fn nothing_to_say() {
    for limits in [&[][..], &["unlimited"], &["gcra 1/s factor 0"], &["unlimited", "unlimited"]] {
        for dialect in Dialect::ALL {
            assert_told(limits, &[1], &[(dialect, &[])]);
        }
    }
}

#[test]
fn what_is_unlimited_is_left_out_but_keeps_its_place() {
    let policy = r#"ratelimit-policy: "login-2";q=10;w=60"#;
    assert_told(
        &["unlimited", "gcra 10/min"],
        &[4],
        &[
            (Ietf, &[r#"ratelimit: "login-2";r=6;t=24"#, policy]),
            (Draft7, &["ratelimit: limit=10, remaining=6, reset=24", "ratelimit-policy: 10;w=60"]),
        ],
    );
}

#[test]
fn concurrency_allowed() {
    assert_told(
        &["concurrency 2 ttl 30s"],
        &[1],
        &[
            (
                Ietf,
                &[
                    r#"ratelimit: "login";r=1"#,
                    r#"ratelimit-policy: "login";q=2;qu="concurrent-requests""#,
                ],
            ),
            (
                Draft8,
                &[
                    r#"ratelimit: "login"; r=1"#,
                    r#"ratelimit-policy: "login"; q=2; qu="concurrent-requests""#,
                ],
            ),
            (Draft7, &["ratelimit: limit=2, remaining=1, reset=30"]),
            (Draft6, &["ratelimit-limit: 2", "ratelimit-remaining: 1", "ratelimit-reset: 30"]),
            (Leaky, &["x-ratelimit-remaining: 1", "x-ratelimit-clear: 30.000"]),
        ],
    );
}

#[test]
fn concurrency_denied() {
    assert_told(
        &["concurrency 2 ttl 1500ms"],
        &[2, 1],
        &[
            (
                Ietf,
                &[
                    r#"ratelimit: "login";r=0"#,
                    r#"ratelimit-policy: "login";q=2;qu="concurrent-requests""#,
                    "retry-after: 2",
                ],
            ),
            (Draft7, &["ratelimit: limit=2, remaining=0, reset=2", "retry-after: 2"]),
            (
                Leaky,
                &[
                    "x-ratelimit-remaining: 0",
                    "x-ratelimit-clear: 1.500",
                    "x-ratelimit-reset: 1.500",
                    "retry-after: 2",
                ],
            ),
            (Dialect::None, &["retry-after: 2"]),
        ],
    );
}

#[test]
fn several_limits_all_listed_and_the_one_that_binds_told() {
    let policy = r#"ratelimit-policy: "login-1";q=1;w=1;tollgate-burst=5, "login-2";q=20;w=3600"#;
    let older = "ratelimit-policy: 1;w=1, 20;w=3600";
    let limits = &["gcra 1/s burst 5", "request-window 20/h"];
    assert_told(limits, &[1], &[(Ietf, &[r#"ratelimit: "login-1";r=4;t=1"#, policy])]);
    assert_told(
        limits,
        &[5, 2],
        &[
            (Ietf, &[r#"ratelimit: "login-1";r=0;t=2"#, policy, "retry-after: 2"]),
            (Draft7, &["ratelimit: limit=5, remaining=0, reset=2", older, "retry-after: 2"]),
        ],
    );
    // The bucket has room for it, but one window holds less: that one makes the caller wait.
    let limits = &["gcra 1/s burst 5", "request-window 6/h"];
    let policy = r#"ratelimit-policy: "login-1";q=1;w=1;tollgate-burst=5, "login-2";q=6;w=3600"#;
    assert_told(
        limits,
        &[5, 2],
        &[(Ietf, &[r#"ratelimit: "login-2";r=0;t=3600"#, policy, "retry-after: 3600"])],
    );
}

/// The numbers of a bucket that holds other than its rate are those of the bucket, so that what
/// remains is never more than the limit.
#[test]
fn a_burst_is_the_limit_where_there_are_no_quotas() {
    assert_told(
        &["token-bucket 10/s burst 200"],
        &[1],
        &[
            (
                Ietf,
                &[
                    r#"ratelimit: "login";r=199;t=1"#,
                    r#"ratelimit-policy: "login";q=10;w=1;tollgate-burst=200"#,
                ],
            ),
            (Draft7, &["ratelimit: limit=200, remaining=199, reset=1", "ratelimit-policy: 10;w=1"]),
        ],
    );
}

/// November 2023 has 30 days, of which 16 are left but for some hours: until
/// 2023-12-01T00:00:00Z, which is 1,701,388,800.
#[test]
fn windows_of_the_calendar() {
    assert_told(
        &["fixed-window 5/month"],
        &[5, 1],
        &[
            (
                Ietf,
                &[
                    r#"ratelimit: "login";r=0;t=1388800"#,
                    r#"ratelimit-policy: "login";q=5;w=2592000"#,
                    "retry-after: 1388800",
                ],
            ),
            (
                XEpoch,
                &[
                    "x-ratelimit-limit: 5",
                    "x-ratelimit-remaining: 0",
                    "x-ratelimit-used: 5",
                    "x-ratelimit-resource: login",
                    "x-ratelimit-reset: 1701388800",
                    "retry-after: 1388800",
                ],
            ),
        ],
    );
}

#[test]
fn less_than_a_second() {
    assert_told(
        &["gcra 10/100ms"],
        &[10, 1],
        &[
            (
                Ietf,
                &[
                    r#"ratelimit: "login";r=0;t=1"#,
                    r#"ratelimit-policy: "login";q=100;w=1;tollgate-burst=10"#,
                    "retry-after: 1",
                ],
            ),
            (
                Draft6,
                &[
                    "ratelimit-limit: 10",
                    "ratelimit-remaining: 0",
                    "ratelimit-reset: 1",
                    "ratelimit-policy: 100;w=1",
                    "retry-after: 1",
                ],
            ),
            (
                Leaky,
                &[
                    "x-ratelimit-remaining: 0",
                    "x-ratelimit-clear: 0.100",
                    "x-ratelimit-reset: 0.010",
                    "retry-after: 1",
                ],
            ),
        ],
    );
}

/// It counts in steps of the clock's minutes, of which the first is over in 39.5 seconds.
#[test]
fn a_level_that_fades_has_no_window() {
    assert_told(
        &["ar1 max 12.5 decay 2 resolution 1min"],
        &[2],
        &[(Ietf, &[r#"ratelimit: "login";r=10;t=1060"#, r#"ratelimit-policy: "login";q=12"#])],
    );
}

#[test]
fn no_number_has_more_than_15_digits() {
    let q = "ratelimit-policy: \"login\";q=999999999999999;w=1;tollgate-burst=4294967295";
    assert_told(
        &["gcra 4294967295/us"],
        &[1],
        &[(Ietf, &[r#"ratelimit: "login";r=4294967294;t=1"#, q])],
    );
}

#[test]
fn draft_8_names_the_partition_of_a_key() {
    let scene = scene(&["gcra 10/min", "concurrency 20 ttl 1s"]);
    let decision = checks(&scene, &[1]);
    let told = scene.told(&decision).key(Key::new(KEY).unwrap());
    let pk = "pk=:ZDg2MWI3ZTkxMDMz:";
    let first = format!(r#""login-1"; q=10; w=60; {pk}"#);
    let second = format!(r#""login-2"; q=20; qu="concurrent-requests"; {pk}"#);
    let policy = format!("ratelimit-policy: {first}, {second}");
    assert_eq!(lines(&told, Draft8), [r#"ratelimit: "login-1"; r=9; t=6"#, &policy]);
    let others = Dialect::ALL.into_iter().filter(|dialect| *dialect != Draft8);
    for dialect in others {
        assert_eq!(lines(&told, dialect), lines(&scene.told(&decision), dialect));
    }
}

/// A caller's mistake: the decision is another policy's.
#[test]
fn a_policy_with_fewer_limits_is_told_of_with_fewer_fields() {
    let scene = scene(&["gcra 10/min", "gcra 1/min"]);
    let decision = checks(&scene, &[1, 1]);
    assert_eq!(decision.bound_by, 1);
    let other = Policy::parse(Name::default(), ["gcra 10/min"]).unwrap();
    let told = RateLimitHeaders::new(&other, &decision, scene.now);
    let policy = r#"ratelimit-policy: "default";q=10;w=60"#;
    assert_eq!(lines(&told, Ietf), [policy, "retry-after: 60"]);
    assert_eq!(lines(&told, XEpoch), ["retry-after: 60"]);
    assert_eq!(told.limit_name(), None);
    let none = Policy::new(Name::default(), Vec::new());
    assert_eq!(
        lines(&RateLimitHeaders::new(&none, &decision, scene.now), Ietf),
        ["retry-after: 60"]
    );
}

#[test]
fn the_limit_that_binds_has_the_name_it_has_in_the_fields() {
    let one = scene(&["gcra 10/min"]);
    assert_eq!(one.told(&checks(&one, &[1])).limit_name().unwrap(), "login");
    let two = scene(&["gcra 10/min", "gcra 1/min"]);
    assert_eq!(two.told(&checks(&two, &[1])).limit_name().unwrap(), "login-2");
}
