//! The nine operations, and batches of checks.

use std::time::Duration;

use serde_json::{Value, json};
use tollgate::Time;

use crate::Talk;
use crate::support::http::server_on;
use crate::support::{Client, policy};

const TRACES: &str = include_str!("../../../core/src/contract/vectors/traces.jsonl");

const POLICIES: &str = "
[policy.default]
limits = [\"gcra 1/s burst 5\"]
[policy.db]
limits = [\"concurrency 2 ttl 30s\"]
[policy.login]
limits = [\"fixed-window 3/h per ip\", \"gcra 1/s burst 5 per user\"]
";

/// An operation, and what remains after it.
fn does(talk: &mut Talk, act: &str, json: &str, status: u16, remaining: u64) -> Value {
    let answer = talk.client.post(&format!("/v1/{act}"), json);
    assert_eq!(answer.status, status, "{act} {json}: {answer:?}");
    let told = answer.json();
    assert_eq!(told["remaining"], remaining, "{act} {json}: {answer:?}");
    assert_eq!(told["allowed"], status == 200, "{act} {json}");
    told
}

#[test]
fn what_is_taken_is_told() {
    let talk = &mut Talk::of(POLICIES);
    let a = "{\"key\":\"a\",\"cost\":2}";
    does(talk, "check", a, 200, 3);
    does(talk, "peek", a, 200, 3);
    does(talk, "peek", a, 200, 3);
    // Debt is not denied.
    let told = does(talk, "charge", "{\"key\":\"a\",\"cost\":5}", 200, 0);
    assert_eq!(told["reset_after_ms"], 7_000);
    does(talk, "check", "{\"key\":\"a\"}", 429, 0);
    does(talk, "refund", a, 200, 0);
    does(talk, "refund", a, 200, 2);
    does(talk, "check", a, 200, 0);
    does(talk, "reset", "{\"key\":\"a\"}", 200, 5);
    // Never beyond full.
    does(talk, "refund", "{\"key\":\"a\",\"cost\":9}", 200, 5);
    does(talk, "check", "{\"key\":\"b\"}", 200, 4);
}

#[test]
fn a_reservation_is_corrected() {
    let talk = &mut Talk::of(POLICIES);
    let with = |cost: u64, id: &str| json!({"key": "a", "cost": cost, "id": id}).to_string();
    does(talk, "reserve", &with(4, "x"), 200, 1);
    does(talk, "reserve", &with(2, "y"), 429, 1);
    does(talk, "settle", &with(1, "x"), 200, 4);
    // It is settled: once more changes nothing.
    does(talk, "settle", &with(3, "x"), 200, 4);
    // Whoever asks again under the same name takes nothing twice.
    does(talk, "check", &with(2, "z"), 200, 2);
    does(talk, "check", &with(2, "z"), 200, 2);
}

#[test]
fn a_lease_is_kept_and_given_back() {
    let talk = &mut Talk::of(POLICIES);
    let with = |id: &str| json!({"policy": "db", "key": "a", "id": id}).to_string();
    does(talk, "check", &with("x"), 200, 1);
    does(talk, "check", &with("y"), 200, 0);
    does(talk, "check", &with("z"), 429, 0);
    talk.clock.advance(Duration::from_secs(20));
    does(talk, "renew", &with("x"), 200, 0);
    talk.clock.advance(Duration::from_secs(15));
    // The other has run out.
    does(talk, "check", &with("z"), 200, 0);
    does(talk, "release", &with("x"), 200, 1);
    does(talk, "release", &with("z"), 200, 2);
}

/// To the letter, as the design has it.
#[test]
fn a_decision_is_told_in_full() {
    let talk = &mut Talk::of(POLICIES);
    let body = "{\"policy\":\"login\",\"keys\":{\"ip\":\"203.0.113.9\",\"user\":\"u\"},\"cost\":2}";
    let answer = talk.client.post("/v1/check", body);
    assert_eq!(answer.status, 200);
    assert_eq!(answer.field("content-type"), Some("application/json"));
    assert_eq!(
        answer.body,
        "{\"allowed\":true,\"limit\":3,\"remaining\":1,\"retry_after_ms\":3600000,\
         \"reset_after_ms\":3600000,\"policy\":\"login\",\"bound_by\":\"fixed-window 3/h per ip\"}"
    );
    talk.clock.advance(Duration::from_micros(250));
    let denied = talk.client.post("/v1/check", body);
    assert_eq!(denied.status, 429);
    assert_eq!(
        denied.body,
        "{\"allowed\":false,\"limit\":3,\"remaining\":1,\"retry_after_ms\":3599999.75,\
         \"reset_after_ms\":3599999.75,\"policy\":\"login\",\"bound_by\":\"fixed-window 3/h per ip\"}"
    );
    let told = ["content-type", "cache-control", "retry-after", "ratelimit", "ratelimit-policy"];
    assert_eq!(
        told.map(|name| denied.field(name)),
        [
            "application/json",
            "no-store",
            "3600",
            "\"login-1\";r=1;t=3600",
            "\"login-1\";q=3;w=3600, \"login-2\";q=1;w=1;tollgate-burst=5",
        ]
        .map(Some)
    );
}

/// Waiting does not help, so nobody is told to.
#[test]
fn what_never_fits_has_no_time() {
    let talk = &mut Talk::of(POLICIES);
    let answer = talk.client.post("/v1/check", "{\"key\":\"a\",\"cost\":6}");
    assert_eq!((answer.status, answer.field("retry-after")), (429, None));
    let told = answer.json();
    assert_eq!((&told["retry_after_ms"], &told["remaining"]), (&Value::Null, &json!(5)));
    // Nothing is a limit for whoever is held to none.
    let free = talk.client.post("/v1/check", "{\"key\":\"a\",\"cost\":6,\"factor\":0}");
    assert_eq!(free.told(), (true, None, None));
}

#[test]
fn a_batch_is_answered_in_its_order() {
    let talk = &mut Talk::of(POLICIES);
    let checks = json!({"checks": [
        {"key": "a", "cost": 3},
        {"key": "b"},
        {"key": "a", "cost": 3},
        {"key": "a", "cost": 2},
        {"policy": "db", "key": "a", "id": "x"},
        {"policy": "login", "keys": {"ip": "a", "user": "b"}, "cost": 4},
        {"key": "a"},
        {"policy": "login", "keys": {"user": "b", "ip": "a"}, "cost": 3},
    ]});
    let answer = talk.client.post("/v1/check/batch", &checks.to_string());
    assert_eq!((answer.status, answer.field("retry-after")), (200, None));
    let results = answer.json()["results"].as_array().unwrap().clone();
    let told: Vec<_> = results
        .iter()
        .map(|one| (one["policy"].as_str().unwrap(), &one["allowed"], &one["remaining"]))
        .collect();
    let (yes, no) = (&json!(true), &json!(false));
    let expected = [
        ("default", yes, &json!(2)),
        ("default", yes, &json!(4)),
        ("default", no, &json!(2)),
        ("default", yes, &json!(0)),
        ("db", yes, &json!(1)),
        ("login", no, &json!(3)),
        ("default", no, &json!(0)),
        ("login", yes, &json!(0)),
    ];
    assert_eq!(told, expected);
    // Each of them is what it would have been alone.
    let one = &results[0];
    assert_eq!(one.as_object().unwrap().len(), 7, "{one}");
    assert_eq!(one["bound_by"], "gcra 1/s burst 5");
}

/// Whatever other systems answer, these do.
#[test]
fn the_vectors_hold_over_http() {
    let clock = tollgate::Clock::manual();
    let cases: Vec<Value> =
        TRACES.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut builder = server_on(&clock);
    for (number, case) in cases.iter().enumerate() {
        let lines: Vec<_> =
            case["limits"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
        builder = builder.policy(policy(&format!("v{number}"), &lines));
    }
    let server = builder.start().unwrap();
    let mut client = Client::http(&server);
    for (number, case) in cases.iter().enumerate() {
        for step in case["steps"].as_array().unwrap() {
            let micros = step["t_ms"].as_f64().unwrap() * 1_000.0;
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole")]
            clock.set(Time::from_micros(micros.round() as u64).unwrap());
            let body = json!({"policy": format!("v{number}"), "key": "-", "cost": step["cost"]});
            let path = format!("/v1/{}", step["op"].as_str().unwrap());
            let told = client.post(&path, &body.to_string()).json();
            for (name, expected) in step["expect"].as_object().unwrap() {
                let is_near = match (told[name].as_f64(), expected.as_f64()) {
                    (Some(told), Some(expected)) => (told - expected).abs() < 0.0015,
                    _ => told[name] == *expected,
                };
                assert!(is_near, "{} {step}: {name} of {told}", case["id"]);
            }
        }
    }
}
