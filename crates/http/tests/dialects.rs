//! The exact fields of each dialect for an allowed check, a denied one, and a cost that never fits.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use support::assert_headers;
use tollgate_http::Dialect::{self, Draft6, Draft7, Draft8, Ietf, Leaky, XDelta, XEpoch};

#[test]
fn allowed() {
    assert_headers(
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
fn denied_though_something_remains() {
    assert_headers(
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
fn denied_though_something_remains_in_x_dialects() {
    assert_headers(
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

/// The cost exceeds the capacity: waiting does not help, so there is no `retry-after`. Dialects that
/// must have a reset send that of the limit.
#[test]
fn cost_that_never_fits() {
    assert_headers(
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

/// A check of cost 0 with a new key.
#[test]
fn nothing_used() {
    assert_headers(
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
