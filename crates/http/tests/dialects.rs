//! What each dialect says when a client is admitted, denied, or hopeless: word for word.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use support::assert_told;
use tollgate_http::Dialect::{self, Draft6, Draft7, Draft8, Ietf, Leaky, XDelta, XEpoch};

#[test]
fn allowed() {
    assert_told(
        &["gcra 10/min"],
        &[4],
        &[
            (Ietf, &[r#"ratelimit: "login";r=6;t=24"#, r#"ratelimit-policy: "login";q=10;w=60"#]),
            (
                Draft8,
                &[r#"ratelimit: "login"; r=6; t=24"#, r#"ratelimit-policy: "login"; q=10; w=60"#],
            ),
            (Draft7, &["ratelimit: limit=10, remaining=6, reset=24", "ratelimit-policy: 10;w=60"]),
            (
                Draft6,
                &[
                    "ratelimit-limit: 10",
                    "ratelimit-remaining: 6",
                    "ratelimit-reset: 24",
                    "ratelimit-policy: 10;w=60",
                ],
            ),
            (
                XEpoch,
                &[
                    "x-ratelimit-limit: 10",
                    "x-ratelimit-remaining: 6",
                    "x-ratelimit-used: 4",
                    "x-ratelimit-resource: login",
                    "x-ratelimit-reset: 1700000025",
                ],
            ),
            (
                XDelta,
                &[
                    "x-ratelimit-limit: 10",
                    "x-ratelimit-remaining: 6",
                    "x-ratelimit-used: 4",
                    "x-ratelimit-resource: login",
                    "x-ratelimit-reset: 24",
                ],
            ),
            (Leaky, &["x-ratelimit-remaining: 6", "x-ratelimit-clear: 24.000"]),
            (Dialect::None, &[]),
        ],
    );
}

#[test]
fn denied_though_something_is_left() {
    assert_told(
        &["gcra 10/min"],
        &[4, 7],
        &[
            (
                Ietf,
                &[
                    r#"ratelimit: "login";r=6;t=6"#,
                    r#"ratelimit-policy: "login";q=10;w=60"#,
                    "retry-after: 6",
                ],
            ),
            (
                Draft8,
                &[
                    r#"ratelimit: "login"; r=6; t=6"#,
                    r#"ratelimit-policy: "login"; q=10; w=60"#,
                    "retry-after: 6",
                ],
            ),
            (
                Draft7,
                &[
                    "ratelimit: limit=10, remaining=6, reset=6",
                    "ratelimit-policy: 10;w=60",
                    "retry-after: 6",
                ],
            ),
            (
                Draft6,
                &[
                    "ratelimit-limit: 10",
                    "ratelimit-remaining: 6",
                    "ratelimit-reset: 6",
                    "ratelimit-policy: 10;w=60",
                    "retry-after: 6",
                ],
            ),
        ],
    );
}

#[test]
fn denied_though_something_is_left_in_other_words() {
    assert_told(
        &["gcra 10/min"],
        &[4, 7],
        &[
            (
                XEpoch,
                &[
                    "x-ratelimit-limit: 10",
                    "x-ratelimit-remaining: 6",
                    "x-ratelimit-used: 4",
                    "x-ratelimit-resource: login",
                    "x-ratelimit-reset: 1700000007",
                    "retry-after: 6",
                ],
            ),
            (
                XDelta,
                &[
                    "x-ratelimit-limit: 10",
                    "x-ratelimit-remaining: 6",
                    "x-ratelimit-used: 4",
                    "x-ratelimit-resource: login",
                    "x-ratelimit-reset: 6",
                    "retry-after: 6",
                ],
            ),
            (
                Leaky,
                &[
                    "x-ratelimit-remaining: 0",
                    "x-ratelimit-clear: 24.000",
                    "x-ratelimit-reset: 6.000",
                    "retry-after: 6",
                ],
            ),
            (Dialect::None, &["retry-after: 6"]),
        ],
    );
}

/// More than the limit holds: no wait helps, so none is told. Those who must say when something
/// resets say when the limit does.
#[test]
fn never() {
    assert_told(
        &["gcra 10/min"],
        &[4, 11],
        &[
            (Ietf, &[r#"ratelimit: "login";r=6"#, r#"ratelimit-policy: "login";q=10;w=60"#]),
            (Draft8, &[r#"ratelimit: "login"; r=6"#, r#"ratelimit-policy: "login"; q=10; w=60"#]),
            (Draft7, &["ratelimit: limit=10, remaining=6, reset=24", "ratelimit-policy: 10;w=60"]),
            (
                Draft6,
                &[
                    "ratelimit-limit: 10",
                    "ratelimit-remaining: 6",
                    "ratelimit-reset: 24",
                    "ratelimit-policy: 10;w=60",
                ],
            ),
            (
                XEpoch,
                &[
                    "x-ratelimit-limit: 10",
                    "x-ratelimit-remaining: 6",
                    "x-ratelimit-used: 4",
                    "x-ratelimit-resource: login",
                    "x-ratelimit-reset: 1700000025",
                ],
            ),
            (
                XDelta,
                &[
                    "x-ratelimit-limit: 10",
                    "x-ratelimit-remaining: 6",
                    "x-ratelimit-used: 4",
                    "x-ratelimit-resource: login",
                    "x-ratelimit-reset: 24",
                ],
            ),
            (Leaky, &["x-ratelimit-remaining: 0", "x-ratelimit-clear: 24.000"]),
            (Dialect::None, &[]),
        ],
    );
}

/// A check that costs nothing, of a key never seen.
#[test]
fn nothing_used() {
    assert_told(
        &["gcra 10/min"],
        &[0],
        &[
            (Ietf, &[r#"ratelimit: "login";r=10"#, r#"ratelimit-policy: "login";q=10;w=60"#]),
            (Draft8, &[r#"ratelimit: "login"; r=10"#, r#"ratelimit-policy: "login"; q=10; w=60"#]),
            (Draft7, &["ratelimit: limit=10, remaining=10, reset=0", "ratelimit-policy: 10;w=60"]),
            (
                Draft6,
                &[
                    "ratelimit-limit: 10",
                    "ratelimit-remaining: 10",
                    "ratelimit-reset: 0",
                    "ratelimit-policy: 10;w=60",
                ],
            ),
            (
                XEpoch,
                &[
                    "x-ratelimit-limit: 10",
                    "x-ratelimit-remaining: 10",
                    "x-ratelimit-used: 0",
                    "x-ratelimit-resource: login",
                    "x-ratelimit-reset: 1700000001",
                ],
            ),
            (
                XDelta,
                &[
                    "x-ratelimit-limit: 10",
                    "x-ratelimit-remaining: 10",
                    "x-ratelimit-used: 0",
                    "x-ratelimit-resource: login",
                    "x-ratelimit-reset: 0",
                ],
            ),
            (Leaky, &["x-ratelimit-remaining: 10", "x-ratelimit-clear: 0.000"]),
            (Dialect::None, &[]),
        ],
    );
}
