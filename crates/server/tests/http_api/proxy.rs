//! `/check`: the requests of proxies, and the headers that reach their clients.

use std::time::Duration;

use tollgate_http::Dialect;

use crate::Fixture;
use crate::support::Client;
use crate::support::http::{Response, without_date};

const QUOTA: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";

/// Creates one policy for each dialect, with the name of the dialect.
fn dialects() -> Fixture {
    let policies = Dialect::ALL.map(|dialect| {
        let limits = "[\"fixed-window 2/min\", \"fixed-window 100/h\"]";
        format!("[policy.{dialect}]\nlimits = {limits}\nheaders = \"{dialect}\"\n")
    });
    Fixture::new(&policies.concat())
}

/// Returns the headers that not every response has.
fn rate_limit_headers(response: &Response) -> Vec<(&str, &str)> {
    let common = ["date", "content-length", "content-type", "cache-control"];
    let headers = response.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    headers.filter(|(name, _)| !common.contains(name)).collect()
}

/// Headers with their values.
type Headers = &'static [(&'static str, &'static str)];

/// The headers of each dialect for an allowed request with one left, and for a denied one, a minute and a half
/// after the epoch.
const DIALECTS: [(&str, Headers, Headers); 8] = [
    (
        "ietf",
        &[
            ("ratelimit", "\"ietf-1\";r=1;t=30"),
            ("ratelimit-policy", "\"ietf-1\";q=2;w=60, \"ietf-2\";q=100;w=3600"),
        ],
        &[
            ("ratelimit", "\"ietf-1\";r=1;t=30"),
            ("ratelimit-policy", "\"ietf-1\";q=2;w=60, \"ietf-2\";q=100;w=3600"),
            ("retry-after", "30"),
        ],
    ),
    (
        "draft-8",
        &[
            ("ratelimit", "\"draft-8-1\"; r=1; t=30"),
            (
                "ratelimit-policy",
                "\"draft-8-1\"; q=2; w=60; pk=:Y2E5NzgxMTJjYTFi:, \
                 \"draft-8-2\"; q=100; w=3600; pk=:Y2E5NzgxMTJjYTFi:",
            ),
        ],
        &[
            ("ratelimit", "\"draft-8-1\"; r=1; t=30"),
            (
                "ratelimit-policy",
                "\"draft-8-1\"; q=2; w=60; pk=:Y2E5NzgxMTJjYTFi:, \
                 \"draft-8-2\"; q=100; w=3600; pk=:Y2E5NzgxMTJjYTFi:",
            ),
            ("retry-after", "30"),
        ],
    ),
    (
        "draft-7",
        &[
            ("ratelimit", "limit=2, remaining=1, reset=30"),
            ("ratelimit-policy", "2;w=60, 100;w=3600"),
        ],
        &[
            ("ratelimit", "limit=2, remaining=1, reset=30"),
            ("ratelimit-policy", "2;w=60, 100;w=3600"),
            ("retry-after", "30"),
        ],
    ),
    (
        "draft-6",
        &[
            ("ratelimit-limit", "2"),
            ("ratelimit-remaining", "1"),
            ("ratelimit-reset", "30"),
            ("ratelimit-policy", "2;w=60, 100;w=3600"),
        ],
        &[
            ("ratelimit-limit", "2"),
            ("ratelimit-remaining", "1"),
            ("ratelimit-reset", "30"),
            ("ratelimit-policy", "2;w=60, 100;w=3600"),
            ("retry-after", "30"),
        ],
    ),
    (
        "x-epoch",
        &[
            ("x-ratelimit-limit", "2"),
            ("x-ratelimit-remaining", "1"),
            ("x-ratelimit-used", "1"),
            ("x-ratelimit-resource", "x-epoch"),
            ("x-ratelimit-reset", "120"),
        ],
        &[
            ("x-ratelimit-limit", "2"),
            ("x-ratelimit-remaining", "1"),
            ("x-ratelimit-used", "1"),
            ("x-ratelimit-resource", "x-epoch"),
            ("x-ratelimit-reset", "120"),
            ("retry-after", "30"),
        ],
    ),
    (
        "x-delta",
        &[
            ("x-ratelimit-limit", "2"),
            ("x-ratelimit-remaining", "1"),
            ("x-ratelimit-used", "1"),
            ("x-ratelimit-resource", "x-delta"),
            ("x-ratelimit-reset", "30"),
        ],
        &[
            ("x-ratelimit-limit", "2"),
            ("x-ratelimit-remaining", "1"),
            ("x-ratelimit-used", "1"),
            ("x-ratelimit-resource", "x-delta"),
            ("x-ratelimit-reset", "30"),
            ("retry-after", "30"),
        ],
    ),
    (
        "leaky",
        &[("x-ratelimit-remaining", "1"), ("x-ratelimit-clear", "30.000")],
        &[
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-clear", "30.000"),
            ("x-ratelimit-reset", "30.000"),
            ("retry-after", "30"),
        ],
    ),
    ("none", &[], &[("retry-after", "30")]),
];

#[test]
fn every_dialect_has_its_exact_headers() {
    let Fixture { clock, mut client, server: _server } = dialects();
    clock.advance(Duration::from_secs(90));
    for (name, allowed, denied) in DIALECTS {
        let target = format!("/check?policy={name}&key=a");
        let response = client.get(&target);
        assert_eq!(
            (response.status, rate_limit_headers(&response).as_slice()),
            (200, allowed),
            "{name}"
        );
        assert_eq!(response.header("cache-control"), Some("no-store"));
        assert_eq!(
            (response.header("content-length"), response.header("content-type")),
            (Some("0"), None)
        );
        let response = client.get(&format!("{target}&cost=2"));
        assert_eq!(
            (response.status, rate_limit_headers(&response).as_slice()),
            (429, denied),
            "{name}"
        );
        assert_eq!(response.header("cache-control"), Some("no-store"));
        assert_eq!(response.header("content-type"), Some("application/problem+json"));
        let problem = format!(
            "{{\"type\":\"{QUOTA}\",\"title\":\"Quota Exceeded\",\"status\":429,\
             \"violated-policies\":[\"{name}-1\"]}}"
        );
        assert_eq!(response.body, problem);
    }
}

#[test]
fn a_denial_has_the_requested_status() {
    let fixture = &mut Fixture::new("[policy.default]\nlimits = [\"gcra 1/s burst 1\"]");
    assert_eq!(fixture.client.get("/check?key=a").status, 200);
    for (status, reason) in [(403_u16, "Forbidden"), (429, "Too Many Requests")] {
        let response = fixture.client.get(&format!("/check?key=a&deny_status={status}"));
        assert_eq!(
            (response.status, response.header("retry-after")),
            (status, Some("1")),
            "{reason}"
        );
        let problem = response.json();
        assert_eq!((&problem["status"], &problem["type"]), (&status.into(), &QUOTA.into()));
        assert_eq!(problem["violated-policies"][0], "default");
    }
}

/// For proxies that accept only 401 and 403, where 403 means something else.
#[test]
fn a_denial_can_be_401() {
    let fixture = &mut Fixture::new("[policy.default]\nlimits = [\"gcra 1/s burst 1\"]");
    assert_eq!(fixture.client.get("/check?key=a").status, 200);
    let mut client = Client::http(&fixture.server);
    client
        .send("GET /check?key=a&deny_status=401 HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n");
    let received = String::from_utf8(without_date(&client.read_until(|_| false).unwrap())).unwrap();
    assert!(received.starts_with("HTTP/1.1 401 Unauthorized\r\n"), "{received}");
}

#[test]
fn any_method_is_accepted_and_bodies_are_ignored() {
    let fixture = &mut Fixture::new("[policy.default]\nlimits = [\"gcra 1/s burst 8\"]");
    let methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"];
    for (left, method) in (0..8).rev().zip(methods) {
        let body = "{\"key\":\"other\",\"cost\":5}";
        fixture.client.send(format!(
            "{method} /check?key=a HTTP/1.1\r\nhost: t\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ));
        let response = fixture.client.head();
        assert_eq!(response.status, 200, "{method}");
        let expected = format!("\"default\";r={left};t={}", 8 - left);
        assert_eq!(response.header("ratelimit"), Some(expected.as_str()), "{method}");
    }
    fixture.client.send("HEAD /check?key=a HTTP/1.1\r\nhost: t\r\n\r\n");
    let denied = fixture.client.head();
    assert_eq!((denied.status, denied.header("retry-after")), (429, Some("1")));
    fixture.client.assert_healthy();
}

#[test]
fn a_peek_takes_nothing() {
    let fixture = &mut Fixture::new("[policy.default]\nlimits = [\"gcra 1/s burst 2\"]");
    for peek in ["peek=1", "peek", "peek="] {
        let response = fixture.client.get(&format!("/check?key=a&{peek}"));
        assert_eq!(response.header("ratelimit"), Some("\"default\";r=2"));
    }
    assert_eq!(
        fixture.client.get("/check?key=a&peek=0").header("ratelimit"),
        Some("\"default\";r=1;t=1")
    );
    let denied = fixture.client.get("/check?key=a&cost=2&peek=1");
    assert_eq!((denied.status, denied.header("retry-after")), (429, Some("1")));
    assert_eq!(fixture.client.get("/check?key=a").status, 200);
}

#[test]
fn subjects_have_their_own_parameters() {
    let limits = "limits = [\"fixed-window 3/h per ip\", \"gcra 1/s burst 1 per user\"]";
    let fixture = &mut Fixture::new(&format!("[policy.login]\n{limits}"));
    let check = |fixture: &mut Fixture, query: &str| {
        fixture.client.get(&format!("/check?policy=login&{query}"))
    };
    assert_eq!(check(fixture, "key.ip=203.0.113.9&key.user=a").status, 200);
    let denied = check(fixture, "key.user=a&key.ip=203.0.113.9&key=ignored");
    assert_eq!(denied.json()["violated-policies"][0], "login-2");
    assert_eq!(check(fixture, "key.ip=203.0.113.9&key.user=%61&key.user=b").status, 429);
    assert_eq!(check(fixture, "key.ip=203.0.113.9&key.user=b").status, 200);
}

/// The headers show the scaled limits, not those of other clients.
#[test]
fn headers_show_the_scaled_limits() {
    let fixture = &mut Fixture::new("[policy.default]\nlimits = [\"fixed-window 10/min\"]");
    let response = fixture.client.get("/check?key=a&factor=0.5");
    assert_eq!(response.header("ratelimit"), Some("\"default\";r=19;t=60"));
    assert_eq!(response.header("ratelimit-policy"), Some("\"default\";q=20;w=60"));
}
