//! The nine operations, and batches of checks.

use std::time::Duration;

use serde_json::{Value, json};
use tollgate::Time;

use crate::Fixture;
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

/// Performs an operation. Checks the status and what remains.
fn apply(fixture: &mut Fixture, act: &str, json: &str, status: u16, remaining: u64) -> Value {
    let response = fixture.client.post(&format!("/v1/{act}"), json);
    assert_eq!(response.status, status, "{act} {json}: {response:?}");
    let decision = response.json();
    assert_eq!(decision["remaining"], remaining, "{act} {json}: {response:?}");
    assert_eq!(decision["allowed"], status == 200, "{act} {json}");
    decision
}

#[test]
fn operations_report_what_remains() {
    let fixture = &mut Fixture::new(POLICIES);
    let a = "{\"key\":\"a\",\"cost\":2}";
    apply(fixture, "check", a, 200, 3);
    apply(fixture, "peek", a, 200, 3);
    apply(fixture, "peek", a, 200, 3);
    // A charge is allowed even if the key goes into debt.
    let charged = apply(fixture, "charge", "{\"key\":\"a\",\"cost\":5}", 200, 0);
    assert_eq!(charged["reset_after_ms"], 7_000);
    apply(fixture, "check", "{\"key\":\"a\"}", 429, 0);
    apply(fixture, "refund", a, 200, 0);
    apply(fixture, "refund", a, 200, 2);
    apply(fixture, "check", a, 200, 0);
    apply(fixture, "reset", "{\"key\":\"a\"}", 200, 5);
    // A refund stops when the limit is full.
    apply(fixture, "refund", "{\"key\":\"a\",\"cost\":9}", 200, 5);
    apply(fixture, "check", "{\"key\":\"b\"}", 200, 4);
}

#[test]
fn a_reservation_is_settled() {
    let fixture = &mut Fixture::new(POLICIES);
    let with = |cost: u64, id: &str| json!({"key": "a", "cost": cost, "id": id}).to_string();
    apply(fixture, "reserve", &with(4, "x"), 200, 1);
    apply(fixture, "reserve", &with(2, "y"), 429, 1);
    apply(fixture, "settle", &with(1, "x"), 200, 4);
    // The reservation is settled; settling it again within a minute changes nothing.
    apply(fixture, "settle", &with(3, "x"), 200, 4);
    apply(fixture, "settle", &with(3, "unknown"), 409, 4);
    // A retry with the same id takes nothing more.
    apply(fixture, "check", &with(2, "z"), 200, 2);
    apply(fixture, "check", &with(2, "z"), 200, 2);
}

/// What is not there is a conflict, which no wait can mend, whatever the mode of enforcement.
#[test]
fn what_is_not_found_is_a_conflict() {
    for enforce in ["on", "shadow", "silent", "50%"] {
        let config = format!(
            "[policy.jobs]\nlimits = [\"concurrency 2 ttl 30s\", \"gcra 1/s burst 9\"]\n\
             enforce = \"{enforce}\"\n"
        );
        let fixture = &mut Fixture::new(&config);
        for (act, kind) in [("settle", "reservation"), ("release", "lease"), ("renew", "lease")] {
            let json = json!({"policy": "jobs", "key": "a", "id": "none"}).to_string();
            let response = fixture.client.post(&format!("/v1/{act}"), &json);
            assert_eq!(response.status, 409, "{act}, {kind}, {enforce}: {response:?}");
            assert_eq!(response.header("retry-after"), None, "{act}, {enforce}");
            assert_eq!(response.header("cache-control"), Some("no-store"), "{act}, {enforce}");
            let decision = response.json();
            assert_eq!(decision["allowed"], false, "{act}, {enforce}");
            assert_eq!(decision["remaining"], 2, "{act}, {enforce}");
        }
    }
}

#[test]
fn an_operation_that_a_policy_cannot_have_is_refused() {
    let fixture = &mut Fixture::new(POLICIES);
    for act in ["release", "renew"] {
        let response = fixture.client.post(&format!("/v1/{act}"), "{\"key\":\"a\",\"id\":\"x\"}");
        assert_eq!(response.status, 422, "{response:?}");
        let detail = format!("{act}: the policy has no concurrency limit, which gives leases");
        assert_eq!(response.json()["detail"], detail);
    }
}

/// A partner without limits can reserve, and must be able to settle.
#[test]
fn an_override_without_limits_misses_nothing() {
    let fixture = &mut Fixture::new(
        "[policy.jobs]\nlimits = [\"concurrency 2 ttl 30s\"]\n\
         overrides = [{ key = \"partner\", limits = [\"unlimited\"] }]\n",
    );
    for act in ["reserve", "renew", "settle", "release", "settle"] {
        let json = json!({"policy": "jobs", "key": "partner", "id": "x"}).to_string();
        let response = fixture.client.post(&format!("/v1/{act}"), &json);
        assert_eq!(response.status, 200, "{act}: {response:?}");
    }
}

#[test]
fn a_lease_is_renewed_and_released() {
    let fixture = &mut Fixture::new(POLICIES);
    let with = |id: &str| json!({"policy": "db", "key": "a", "id": id}).to_string();
    apply(fixture, "check", &with("x"), 200, 1);
    apply(fixture, "check", &with("y"), 200, 0);
    apply(fixture, "check", &with("z"), 429, 0);
    fixture.clock.advance(Duration::from_secs(20));
    apply(fixture, "renew", &with("x"), 200, 0);
    fixture.clock.advance(Duration::from_secs(15));
    // The other lease has expired.
    apply(fixture, "check", &with("z"), 200, 0);
    apply(fixture, "renew", &with("y"), 409, 0);
    apply(fixture, "release", &with("x"), 200, 1);
    apply(fixture, "release", &with("x"), 409, 1);
    apply(fixture, "release", &with("z"), 200, 2);
}

/// The exact body and headers.
#[test]
fn a_decision_has_its_exact_response() {
    let fixture = &mut Fixture::new(POLICIES);
    let body = "{\"policy\":\"login\",\"keys\":{\"ip\":\"203.0.113.9\",\"user\":\"u\"},\"cost\":2}";
    let response = fixture.client.post("/v1/check", body);
    assert_eq!(response.status, 200);
    assert_eq!(response.header("content-type"), Some("application/json"));
    assert_eq!(
        response.body,
        "{\"allowed\":true,\"limit\":3,\"remaining\":1,\"retry_after_ms\":3600000,\
         \"reset_after_ms\":3600000,\"policy\":\"login\",\"bound_by\":\"fixed-window 3/h per ip\"}"
    );
    fixture.clock.advance(Duration::from_micros(250));
    let denied = fixture.client.post("/v1/check", body);
    assert_eq!(denied.status, 429);
    assert_eq!(
        denied.body,
        "{\"allowed\":false,\"limit\":3,\"remaining\":1,\"retry_after_ms\":3599999.75,\
         \"reset_after_ms\":3599999.75,\"policy\":\"login\",\"bound_by\":\"fixed-window 3/h per ip\"}"
    );
    let names = ["content-type", "cache-control", "retry-after", "ratelimit", "ratelimit-policy"];
    assert_eq!(
        names.map(|name| denied.header(name)),
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

/// Waiting does not help, so there is no `retry-after`.
#[test]
fn a_cost_above_the_capacity_has_no_retry_after() {
    let fixture = &mut Fixture::new(POLICIES);
    let response = fixture.client.post("/v1/check", "{\"key\":\"a\",\"cost\":6}");
    assert_eq!((response.status, response.header("retry-after")), (429, None));
    let decision = response.json();
    assert_eq!((&decision["retry_after_ms"], &decision["remaining"]), (&Value::Null, &json!(5)));
    // With the factor 0 there is no limit.
    let free = fixture.client.post("/v1/check", "{\"key\":\"a\",\"cost\":6,\"factor\":0}");
    assert_eq!(free.decision(), (true, None, None));
}

#[test]
fn a_batch_is_decided_in_its_order() {
    let fixture = &mut Fixture::new(POLICIES);
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
    let response = fixture.client.post("/v1/check/batch", &checks.to_string());
    assert_eq!((response.status, response.header("retry-after")), (200, None));
    let results = response.json()["results"].as_array().unwrap().clone();
    let decisions: Vec<_> = results
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
    assert_eq!(decisions, expected);
    // Each result has the format of a single check.
    let one = &results[0];
    assert_eq!(one.as_object().unwrap().len(), 7, "{one}");
    assert_eq!(one["bound_by"], "gcra 1/s burst 5");
}

/// The vectors are decisions of other implementations.
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
            let decision = client.post(&path, &body.to_string()).json();
            for (name, expected) in step["expect"].as_object().unwrap() {
                let is_near = match (decision[name].as_f64(), expected.as_f64()) {
                    (Some(actual), Some(expected)) => (actual - expected).abs() < 0.0015,
                    _ => decision[name] == *expected,
                };
                assert!(is_near, "{} {step}: {name} of {decision}", case["id"]);
            }
        }
    }
}
