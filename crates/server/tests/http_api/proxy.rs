//! What proxies ask, and what clients are told through them.

use std::time::Duration;

use tollgate_http::Dialect;

use crate::Talk;
use crate::support::Client;
use crate::support::http::{Answer, undated};

const QUOTA: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";

/// One policy for each dialect, each with its name.
fn dialects() -> Talk {
    let policies = Dialect::ALL.map(|dialect| {
        let limits = "[\"fixed-window 2/min\", \"fixed-window 100/h\"]";
        format!("[policy.{dialect}]\nlimits = {limits}\nheaders = \"{dialect}\"\n")
    });
    Talk::of(&policies.concat())
}

/// What a client is told, without what every answer has.
fn told(answer: &Answer) -> Vec<(&str, &str)> {
    let common = ["date", "content-length", "content-type", "cache-control"];
    let fields = answer.fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    fields.filter(|(name, _)| !common.contains(name)).collect()
}

/// Fields with their values.
type Fields = &'static [(&'static str, &'static str)];

/// What each dialect says of one who may pass with one left, and of one who may not, a minute and a
/// half after the epoch.
const TOLD: [(&str, Fields, Fields); 8] = [
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
fn every_dialect_is_spoken() {
    let Talk { clock, mut client, server: _server } = dialects();
    clock.advance(Duration::from_secs(90));
    for (name, passes, denied) in TOLD {
        let target = format!("/check?policy={name}&key=a");
        let answer = client.get(&target);
        assert_eq!((answer.status, told(&answer).as_slice()), (200, passes), "{name}");
        assert_eq!(answer.field("cache-control"), Some("no-store"));
        assert_eq!(
            (answer.field("content-length"), answer.field("content-type")),
            (Some("0"), None)
        );
        let answer = client.get(&format!("{target}&cost=2"));
        assert_eq!((answer.status, told(&answer).as_slice()), (429, denied), "{name}");
        assert_eq!(answer.field("cache-control"), Some("no-store"));
        assert_eq!(answer.field("content-type"), Some("application/problem+json"));
        let problem = format!(
            "{{\"type\":\"{QUOTA}\",\"title\":\"Quota Exceeded\",\"status\":429,\
             \"violated-policies\":[\"{name}-1\"]}}"
        );
        assert_eq!(answer.body, problem);
    }
}

#[test]
fn who_is_denied_is_told_so_with_the_status_that_was_asked_for() {
    let talk = &mut Talk::of("[policy.default]\nlimits = [\"gcra 1/s burst 1\"]");
    assert_eq!(talk.client.get("/check?key=a").status, 200);
    for (status, reason) in [(403_u16, "Forbidden"), (429, "Too Many Requests")] {
        let answer = talk.client.get(&format!("/check?key=a&deny_status={status}"));
        assert_eq!((answer.status, answer.field("retry-after")), (status, Some("1")), "{reason}");
        let problem = answer.json();
        assert_eq!((&problem["status"], &problem["type"]), (&status.into(), &QUOTA.into()));
        assert_eq!(problem["violated-policies"][0], "default");
    }
}

/// Proxies that know only 401 and 403 are told 401 if 403 means something else there.
#[test]
fn unauthorized_is_called_so() {
    let talk = &mut Talk::of("[policy.default]\nlimits = [\"gcra 1/s burst 1\"]");
    assert_eq!(talk.client.get("/check?key=a").status, 200);
    let mut client = Client::http(&talk.server);
    client
        .send("GET /check?key=a&deny_status=401 HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n");
    let came = String::from_utf8(undated(&client.until(|_| false).unwrap())).unwrap();
    assert!(came.starts_with("HTTP/1.1 401 Unauthorized\r\n"), "{came}");
}

#[test]
fn any_method_will_do_and_bodies_are_passed_over() {
    let talk = &mut Talk::of("[policy.default]\nlimits = [\"gcra 1/s burst 8\"]");
    let methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"];
    for (left, method) in (0..8).rev().zip(methods) {
        let body = "{\"key\":\"other\",\"cost\":5}";
        talk.client.send(format!(
            "{method} /check?key=a HTTP/1.1\r\nhost: t\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ));
        let answer = talk.client.head();
        assert_eq!(answer.status, 200, "{method}");
        let expected = format!("\"default\";r={left};t={}", 8 - left);
        assert_eq!(answer.field("ratelimit"), Some(expected.as_str()), "{method}");
    }
    talk.client.send("HEAD /check?key=a HTTP/1.1\r\nhost: t\r\n\r\n");
    let denied = talk.client.head();
    assert_eq!((denied.status, denied.field("retry-after")), (429, Some("1")));
    talk.client.is_healthy();
}

#[test]
fn a_look_takes_nothing() {
    let talk = &mut Talk::of("[policy.default]\nlimits = [\"gcra 1/s burst 2\"]");
    for peek in ["peek=1", "peek", "peek="] {
        let answer = talk.client.get(&format!("/check?key=a&{peek}"));
        assert_eq!(answer.field("ratelimit"), Some("\"default\";r=2"));
    }
    assert_eq!(
        talk.client.get("/check?key=a&peek=0").field("ratelimit"),
        Some("\"default\";r=1;t=1")
    );
    let denied = talk.client.get("/check?key=a&cost=2&peek=1");
    assert_eq!((denied.status, denied.field("retry-after")), (429, Some("1")));
    assert_eq!(talk.client.get("/check?key=a").status, 200);
}

#[test]
fn subjects_have_their_own_parameters() {
    let limits = "limits = [\"fixed-window 3/h per ip\", \"gcra 1/s burst 1 per user\"]";
    let talk = &mut Talk::of(&format!("[policy.login]\n{limits}"));
    let ask =
        |talk: &mut Talk, query: &str| talk.client.get(&format!("/check?policy=login&{query}"));
    assert_eq!(ask(talk, "key.ip=203.0.113.9&key.user=a").status, 200);
    let denied = ask(talk, "key.user=a&key.ip=203.0.113.9&key=ignored");
    assert_eq!(denied.json()["violated-policies"][0], "login-2");
    assert_eq!(ask(talk, "key.ip=203.0.113.9&key.user=%61&key.user=b").status, 429);
    assert_eq!(ask(talk, "key.ip=203.0.113.9&key.user=b").status, 200);
}

/// A client that is held to more must not be told what others have.
#[test]
fn whoever_is_held_to_more_is_told_the_limits_they_have() {
    let talk = &mut Talk::of("[policy.default]\nlimits = [\"fixed-window 10/min\"]");
    let answer = talk.client.get("/check?key=a&factor=0.5");
    assert_eq!(answer.field("ratelimit"), Some("\"default\";r=19;t=60"));
    assert_eq!(answer.field("ratelimit-policy"), Some("\"default\";q=20;w=60"));
}
