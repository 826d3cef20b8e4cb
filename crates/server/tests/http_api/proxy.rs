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
    let response = fixture.client.post("/v1/check", "{\"key\":\"a\",\"cost\":21,\"factor\":0.5}");
    assert_eq!(response.header("ratelimit"), Some("\"default\";r=20"));
    assert_eq!(response.header("ratelimit-policy"), Some("\"default\";q=20;w=60"));
}

/// Sends a request to `/check` with these headers.
fn check_with(client: &mut Client, query: &str, headers: &str) -> Response {
    client.send(format!("GET /check?{query} HTTP/1.1\r\nhost: t\r\n{headers}\r\n"));
    client.response()
}

#[test]
fn keys_come_in_headers() {
    let limits = "limits = [\"fixed-window 2/h per ip\", \"fixed-window 1/h per User\"]";
    let config =
        format!("[policy.login]\n{limits}\n[policy.default]\nlimits = [\"fixed-window 1/h\"]");
    let fixture = &mut Fixture::new(&config);
    let mut login = |headers: &str| check_with(&mut fixture.client, "policy=login&end", headers);
    assert_eq!(login("Tollgate-Key-Ip: 203.0.113.9\r\ntollgate-key-USER: a\r\n").status, 200);
    let denied = login("tollgate-key-ip: 203.0.113.9\r\nTOLLGATE-KEY-user: a\r\n");
    assert_eq!(denied.json()["violated-policies"][0], "login-2");
    // A key that no limit counts is ignored, and so is what only looks like one.
    let others = "tollgate-key: x\r\ntollgate-key-other: x\r\ntollgate-keys: x\r\n";
    let known = "tollgate-key-ip: 203.0.113.9\r\ntollgate-key-user: b\r\n";
    assert_eq!(login(&format!("{others}{known}")).status, 200);
    assert_eq!(login("tollgate-key-user: b\r\n").status, 422);
    // A header counts before the query.
    let mut plain =
        |query: &str, headers: &str| check_with(&mut fixture.client, query, headers).status;
    assert_eq!(plain("key=a", "tollgate-key: b\r\n"), 200);
    assert_eq!(plain("key=a", "tollgate-key: b\r\n"), 429);
    assert_eq!(plain("key=b", ""), 429);
    assert_eq!(plain("policy=login&key.ip=1&key.User=2", "tollgate-key-user: c\r\n"), 200);
    assert_eq!(plain("policy=login&key.ip=1&key.User=c", ""), 429);
}

/// What a client sends as its key stays a key, whatever is in it.
#[test]
fn a_hostile_key_stays_a_key() {
    let fixture = &mut Fixture::new("[policy.default]\nlimits = [\"fixed-window 1/h\"]");
    let hostile = [
        "a&peek=1",
        "a&cost=0",
        "a&factor=0",
        "a&key=b",
        "a&end",
        "a#",
        "a%26cost=0",
        "a%00",
        "a\"b",
        "a, b",
        "\u{e4}",
        "=",
        "&",
        "?policy=other",
    ];
    for key in hostile {
        let header = format!("Tollgate-Key: {key}\r\n");
        for expected in [200, 429] {
            let status = check_with(&mut fixture.client, "policy=default&end", &header).status;
            assert_eq!(status, expected, "{key}");
        }
    }
    // The proxy added its own key to that of the client, and neither can be told from the other.
    let two = "Tollgate-Key: mine\r\nTollgate-Key: theirs\r\n";
    let response = check_with(&mut fixture.client, "end", two);
    assert_eq!(response.status, 422);
    assert_eq!(response.json()["detail"], "more than one tollgate-key header");
    // No other name of a header stands for the same key.
    for other in
        ["Tollgate-Key-", "Tollgate-Key-Key", "Tollgate-Keys", "Tollgate_Key", "Tollgate-Key--"]
    {
        let headers =
            format!("{other}: other\r\nTollgate-Key: {}\r\n{other}x: other\r\n", hostile[0]);
        assert_eq!(check_with(&mut fixture.client, "end", &headers).status, 429, "{other}");
    }
    // A factor would switch the limits off.
    let mut plain = |query: &str| fixture.client.get(&format!("/check?{query}")).status;
    assert_eq!((plain("key=z&factor=0"), plain("key=z&factor=0&limits=unlimited")), (200, 429));
}

/// A proxy that leaves out the body of its client may still announce it.
#[test]
fn a_body_that_does_not_come_is_not_waited_for() {
    let fixture = &mut Fixture::new("[policy.default]\nlimits = [\"fixed-window 100/h\"]");
    let started = ["0", "5", "1000000000000"].map(|length| format!("content-length: {length}"));
    let chunked = "transfer-encoding: chunked".to_owned();
    for (announced, is_whole) in
        started.into_iter().chain([chunked]).zip([true, false, false, false])
    {
        let mut client = Client::http(&fixture.server);
        let response = check_with(&mut client, "key=a", &format!("{announced}\r\n"));
        assert_eq!(response.status, 200, "{announced}");
        let closes = response.header("connection") == Some("close");
        assert_eq!(closes, !is_whole, "{announced}");
    }
    fixture.client.assert_healthy();
}
