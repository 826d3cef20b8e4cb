//! The exact fields for limits of each algorithm, and for several limits.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use support::{KEY, assert_headers, checks, lines, scene};
use tollgate_core::{Key, Name, Policy};
use tollgate_http::Dialect::{self, Draft6, Draft7, Draft8, Ietf, Leaky, XEpoch};
use tollgate_http::RateLimitHeaders;

#[test]
fn unlimited_has_no_fields() {
    for limits in [&[][..], &["unlimited"], &["gcra 1/s factor 0"], &["unlimited", "unlimited"]] {
        for dialect in Dialect::ALL {
            assert_headers(limits, &[1], &[(dialect, &[])]);
        }
    }
}

#[test]
fn an_unlimited_limit_is_left_out_but_keeps_its_position() {
    let policy = r#"ratelimit-policy: "login-2";q=10;w=60"#;
    assert_headers(
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
    assert_headers(
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
    assert_headers(
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
fn all_limits_are_listed_and_the_binding_one_has_numbers() {
    let policy = r#"ratelimit-policy: "login-1";q=1;w=1;tollgate-burst=5, "login-2";q=20;w=3600"#;
    let older = "ratelimit-policy: 1;w=1, 20;w=3600";
    let limits = &["gcra 1/s burst 5", "request-window 20/h"];
    assert_headers(limits, &[1], &[(Ietf, &[r#"ratelimit: "login-1";r=4;t=1"#, policy])]);
    assert_headers(
        limits,
        &[5, 2],
        &[
            (Ietf, &[r#"ratelimit: "login-1";r=0;t=2"#, policy, "retry-after: 2"]),
            (Draft7, &["ratelimit: limit=5, remaining=0, reset=2", older, "retry-after: 2"]),
        ],
    );
    // Both limits deny; the window makes the client wait longer than the bucket.
    let limits = &["gcra 1/s burst 5", "request-window 6/h"];
    let policy = r#"ratelimit-policy: "login-1";q=1;w=1;tollgate-burst=5, "login-2";q=6;w=3600"#;
    assert_headers(
        limits,
        &[5, 2],
        &[(Ietf, &[r#"ratelimit: "login-2";r=0;t=3600"#, policy, "retry-after: 3600"])],
    );
}

/// Where a dialect has only one number, it is the capacity of the bucket, so that `remaining` is
/// never more than the limit.
#[test]
fn burst_is_the_limit_in_dialects_without_quotas() {
    assert_headers(
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
fn calendar_windows() {
    assert_headers(
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
fn windows_shorter_than_a_second() {
    assert_headers(
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

/// The resolution steps are aligned to the minutes of the clock; the first ends in 39.5 seconds.
#[test]
fn ar1_has_no_window() {
    assert_headers(
        &["ar1 max 12.5 decay 2 resolution 1min"],
        &[2],
        &[(Ietf, &[r#"ratelimit: "login";r=10;t=1060"#, r#"ratelimit-policy: "login";q=12"#])],
    );
}

#[test]
fn no_number_has_more_than_15_digits() {
    let q = "ratelimit-policy: \"login\";q=999999999999999;w=1;tollgate-burst=4294967295";
    assert_headers(
        &["gcra 4294967295/us"],
        &[1],
        &[(Ietf, &[r#"ratelimit: "login";r=4294967294;t=1"#, q])],
    );
}

/// A quota that says no unit counts requests.
#[test]
fn a_unit_of_cost_is_the_unit_of_the_quota() {
    assert_headers(
        &["gcra 60/min", "gcra 90000/min of tokens", "concurrency 3 ttl 1s of tokens"],
        &[1],
        &[(
            Ietf,
            &[
                r#"ratelimit: "login-3";r=3"#,
                "ratelimit-policy: \"login-1\";q=60;w=60, \"login-2\";q=90000;qu=\"tokens\";w=60, \
                     \"login-3\";q=3;qu=\"tokens\"",
            ],
        )],
    );
}

#[test]
fn draft_8_has_the_partition_of_the_key() {
    let scene = scene(&["gcra 10/min", "concurrency 20 ttl 1s"]);
    let decision = checks(&scene, &[1]);
    let headers = scene.headers(&decision).key(Key::new(KEY).unwrap());
    let pk = "pk=:ZDg2MWI3ZTkxMDMz:";
    let first = format!(r#""login-1"; q=10; w=60; {pk}"#);
    let second = format!(r#""login-2"; q=20; qu="concurrent-requests"; {pk}"#);
    let policy = format!("ratelimit-policy: {first}, {second}");
    assert_eq!(lines(&headers, Draft8), [r#"ratelimit: "login-1"; r=9; t=6"#, &policy]);
    let others = Dialect::ALL.into_iter().filter(|dialect| *dialect != Draft8);
    for dialect in others {
        assert_eq!(lines(&headers, dialect), lines(&scene.headers(&decision), dialect));
    }
}

/// A mistake of the caller: the decision was made by another policy.
#[test]
fn a_policy_with_fewer_limits_has_fewer_fields() {
    let scene = scene(&["gcra 10/min", "gcra 1/min"]);
    let decision = checks(&scene, &[1, 1]);
    assert_eq!(decision.bound_by, 1);
    let other = Policy::parse(Name::default(), ["gcra 10/min"]).unwrap();
    let headers = RateLimitHeaders::new(&other, &decision, scene.now);
    let policy = r#"ratelimit-policy: "default";q=10;w=60"#;
    assert_eq!(lines(&headers, Ietf), [policy, "retry-after: 60"]);
    assert_eq!(lines(&headers, XEpoch), ["retry-after: 60"]);
    assert_eq!(headers.limit_name(), None);
    let none = Policy::new(Name::default(), Vec::new());
    assert_eq!(
        lines(&RateLimitHeaders::new(&none, &decision, scene.now), Ietf),
        ["retry-after: 60"]
    );
}

#[test]
fn limit_name_is_the_name_in_the_fields() {
    let one = scene(&["gcra 10/min"]);
    assert_eq!(one.headers(&checks(&one, &[1])).limit_name().unwrap(), "login");
    let two = scene(&["gcra 10/min", "gcra 1/min"]);
    assert_eq!(two.headers(&checks(&two, &[1])).limit_name().unwrap(), "login-2");
}
