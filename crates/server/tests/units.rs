//! Costs of several units in one operation: all or nothing, over HTTP and RESP, in memory and in Redis.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

#[allow(dead_code, reason = "other tests need the rest of it")]
mod support;

use std::sync::Arc;

use serde_json::{Value, json};
use support::http::server_on;
use support::{Client, array, policy};
use tollgate::Clock;
use tollgate_redis::RedisStore;
use tollgate_server::{Server, ServerBuilder};

const PER_MINUTE: [&str; 2] = ["gcra 60/min", "gcra 90000/min of tokens"];

/// The same amounts, so slow that the clock of Redis changes next to nothing during a test.
const PER_DAY: [&str; 2] = ["gcra 60/day", "gcra 90000/day of tokens"];

/// How many tokens a slow test may gain.
const REFILL: u64 = 60;

/// One operation, and what remains of both limits after it.
#[derive(Clone, Copy)]
struct Step {
    act: &'static str,
    cost: Option<u64>,
    tokens: Option<u64>,
    id: Option<&'static str>,
    allowed: bool,
    requests_left: u64,
    tokens_left: u64,
}

const fn step(
    act: &'static str,
    cost: Option<u64>,
    tokens: Option<u64>,
    after: (bool, u64, u64),
) -> Step {
    let (allowed, requests_left, tokens_left) = after;
    Step { act, cost, tokens, id: None, allowed, requests_left, tokens_left }
}

const fn with_id(id: &'static str, step: Step) -> Step {
    Step { id: Some(id), ..step }
}

const STEPS: [Step; 15] = [
    // Without a cost of its unit a limit takes nothing.
    step("check", None, None, (true, 59, 90_000)),
    step("check", None, Some(850), (true, 58, 89_150)),
    step("check", Some(3), Some(150), (true, 55, 89_000)),
    // All or nothing, whichever limit denies.
    step("check", None, Some(89_500), (false, 55, 89_000)),
    step("check", Some(56), Some(1_000), (false, 55, 89_000)),
    step("peek", Some(2), Some(1_000), (true, 55, 89_000)),
    step("peek", None, Some(100_000), (false, 55, 89_000)),
    step("charge", Some(0), Some(9_000), (true, 55, 80_000)),
    step("refund", Some(5), Some(1_000), (true, 60, 81_000)),
    // The estimate is corrected in both units.
    with_id("a", step("reserve", Some(2), Some(21_000), (true, 58, 60_000))),
    with_id("b", step("reserve", Some(1), Some(70_000), (false, 58, 60_000))),
    with_id("a", step("settle", Some(1), Some(1_000), (true, 59, 80_000))),
    // A retry takes nothing more.
    with_id("c", step("check", Some(9), Some(10_000), (true, 50, 70_000))),
    with_id("c", step("check", Some(9), Some(10_000), (true, 50, 70_000))),
    step("reset", None, None, (true, 60, 90_000)),
];

impl Step {
    fn http(&self, client: &mut Client, key: &str) -> bool {
        let mut body = json!({"policy": "model", "key": key});
        body["cost"] = self.cost.into();
        body["id"] = self.id.into();
        if let Some(tokens) = self.tokens {
            body["costs"] = json!({"tokens": tokens});
        }
        let response = client.post(&format!("/v1/{}", self.act), &body.to_string());
        assert_eq!(response.status, if self.allowed { 200 } else { 429 }, "{response:?}");
        response.json()["allowed"] == true
    }

    fn resp(&self, client: &mut Client, key: &str) -> bool {
        let mut args = vec![format!("TG.{}", self.act.to_uppercase()), "model".into(), key.into()];
        let options = [
            self.tokens.map(|tokens| ["COST".to_owned(), format!("tokens={tokens}")]),
            self.cost.map(|cost| ["cost".to_owned(), cost.to_string()]),
            self.id.map(|id| ["ID".to_owned(), id.to_owned()]),
        ];
        args.extend(options.into_iter().flatten().flatten());
        let reply = client.request(array(&args));
        assert!(reply.starts_with("*5\r\n"), "{args:?}: {reply}");
        reply.starts_with("*5\r\n:1\r\n")
    }
}

/// Returns what remains of each limit.
fn left(client: &mut Client, key: &str) -> [u64; 2] {
    let body = json!({"policy": "model", "key": key, "cost": 0, "each": true});
    let limits = client.post("/v1/peek", &body.to_string()).json()["limits"].clone();
    assert_eq!(limits.as_array().map(Vec::len), Some(2), "{limits}");
    [0, 1].map(|position| limits[position]["remaining"].as_u64().unwrap())
}

fn assert_steps(builder: ServerBuilder, lines: &[&str], refill: u64) {
    let server = builder.policy(policy("model", lines)).start().unwrap();
    let (mut http, mut resp) = (Client::http(&server), Client::resp(&server));
    for key in ["http", "resp"] {
        for (number, step) in STEPS.iter().enumerate() {
            let allowed = match key {
                "http" => step.http(&mut http, key),
                _ => step.resp(&mut resp, key),
            };
            let [requests, tokens] = left(&mut http, key);
            let place = format!("step {number} ({}) over {key}", step.act);
            assert_eq!((allowed, requests), (step.allowed, step.requests_left), "{place}");
            let expected = step.tokens_left..=step.tokens_left + refill;
            assert!(expected.contains(&tokens), "{place}: {tokens} tokens left");
        }
    }
}

#[test]
fn both_costs_count_in_memory() {
    assert_steps(server_on(&Clock::manual()), &PER_MINUTE, 0);
}

#[test]
fn both_costs_count_in_redis() {
    let Some(redis) = tollgate_fixtures::Server::redis() else { return };
    let store = RedisStore::builder(&redis.url()).build().unwrap();
    let address = || "127.0.0.1:0".parse().unwrap();
    let builder = Server::builder().store(Arc::new(store)).resp(address()).http(address());
    assert_steps(builder.threads(1), &PER_DAY, REFILL);
}

/// Where denials are not enforced openly, the status of each limit would give the limits away.
#[test]
fn the_status_of_each_limit_is_returned_on_request() {
    let clock = Clock::manual();
    let toml = ["on", "shadow", "silent", "off", "0%", "100%"].map(|mode| {
        let name = mode.trim_end_matches('%');
        format!("[policy.{name}]\nlimits = {PER_MINUTE:?}\nenforce = \"{mode}\"\n")
    });
    let config = tollgate_server::Config::parse(&toml.concat()).unwrap();
    let server =
        config.policies.into_iter().fold(server_on(&clock), ServerBuilder::policy).start().unwrap();
    let mut client = Client::http(&server);
    let mut check = |policy: &str, each: Value| {
        let body = json!({"policy": policy, "key": "a", "costs": {"tokens": 60_000}, "each": each});
        client.post("/v1/check", &body.to_string()).json()
    };
    let all = json!([
        {"limit": 60, "remaining": 59, "retry_after_ms": 0, "reset_after_ms": 1_000, "line": "gcra 60/min"},
        {
            "limit": 90_000, "remaining": 30_000, "retry_after_ms": 20_000, "reset_after_ms": 40_000,
            "line": "gcra 90000/min of tokens",
        },
    ]);
    assert_eq!(check("on", true.into())["limits"], all);
    assert_eq!(check("on", true.into())["limits"], all, "a denial takes nothing");
    assert_eq!(check("100", true.into())["limits"], all);
    for (policy, each) in [
        ("on", json!(false)),
        ("on", Value::Null),
        ("shadow", json!(true)),
        ("silent", json!(true)),
        ("off", json!(true)),
        ("0", json!(true)),
    ] {
        assert_eq!(check(policy, each.clone()).get("limits"), None, "{policy} {each}");
    }
}

/// What remains of the whole policy are requests, but the limit that binds counts tokens.
#[test]
fn the_header_fields_tell_what_remains_of_the_limit_that_binds() {
    let server = server_on(&Clock::manual()).policy(policy("model", &PER_MINUTE)).start().unwrap();
    let mut client = Client::http(&server);
    let body = json!({"policy": "model", "key": "a", "costs": {"tokens": 60_000}}).to_string();
    assert_eq!(client.post("/v1/check", &body).status, 200);
    let denied = client.post("/v1/check", &body);
    assert_eq!(denied.header("ratelimit"), Some("\"model-2\";r=30000;t=20"));
    assert_eq!(denied.json()["remaining"], 59);
    let proxied = client.get("/check?policy=model&key=a&cost.tokens=60000");
    assert_eq!(proxied.header("ratelimit"), Some("\"model-2\";r=30000;t=20"));
}

#[test]
fn each_check_of_a_batch_has_its_own_statuses() {
    let server = server_on(&Clock::manual()).policy(policy("model", &PER_MINUTE)).start().unwrap();
    let check = |key: &str, tokens: u64, each: bool| json!({"policy": "model", "key": key, "costs": {"tokens": tokens}, "each": each});
    let body =
        json!({"checks": [check("a", 1_000, true), check("b", 5, false), check("a", 2_000, true)]});
    let response = Client::http(&server).post("/v1/check/batch", &body.to_string()).json();
    let tokens = |index: usize| response["results"][index]["limits"][1]["remaining"].clone();
    assert_eq!([tokens(0), tokens(1), tokens(2)], [json!(89_000), Value::Null, json!(87_000)]);
}

/// The candidate decides by the same costs, and its numbers are not reported.
#[test]
fn a_candidate_takes_both_costs() {
    let toml = "[policy.model]\nlimits = [\"gcra 60/min\", \"gcra 90000/min of tokens\"]\n\
                candidate = [\"gcra 60/min burst 7\", \"gcra 10000/min of tokens\"]";
    let config = tollgate_server::Config::parse(toml).unwrap();
    let server = server_on(&Clock::manual());
    let server = config.policies.into_iter().fold(server, ServerBuilder::policy).start().unwrap();
    let mut client = Client::http(&server);
    for (tokens, left) in [(8_000, 82_000), (8_000, 74_000), (1_000, 73_000)] {
        let body =
            json!({"policy": "model", "key": "a", "costs": {"tokens": tokens}, "each": true});
        let response = client.post("/v1/check", &body.to_string()).json();
        assert_eq!(response["limits"][1]["remaining"], left, "{response}");
    }
    let metrics = client.get("/metrics").body;
    let stricter =
        "tollgate_candidate_differences_total{policy=\"model\",candidate=\"stricter\"} 1\n";
    assert!(metrics.contains(stricter), "{metrics}");
}

/// A unit that no limit has is an error, also while nothing is counted.
#[test]
fn an_unknown_unit_is_an_error() {
    let toml = "[policy.on]\nlimits = [\"gcra 60/min\", \"gcra 90000/min of tokens\"]\n\
                [policy.off]\nlimits = [\"gcra 60/min\", \"gcra 90000/min of tokens\"]\nenforce = \"off\"";
    let config = tollgate_server::Config::parse(toml).unwrap();
    let server = server_on(&Clock::manual());
    let server = config.policies.into_iter().fold(server, ServerBuilder::policy).start().unwrap();
    let (mut http, mut resp) = (Client::http(&server), Client::resp(&server));
    let error = "cost of \"bytes\": no limit of the policy has this unit (of UNIT)";
    for policy in ["on", "off"] {
        let body = json!({"policy": policy, "key": "a", "costs": {"tokens": 1, "bytes": 1}});
        let response = http.post("/v1/check", &body.to_string());
        assert_eq!((response.status, &response.json()["detail"]), (422, &json!(error)));
        let response = http.get(&format!("/check?policy={policy}&key=a&cost.bytes=1"));
        assert_eq!((response.status, &response.json()["detail"]), (422, &json!(error)));
        let reply = resp.request(format!("TG.CHECK {policy} a COST bytes=1\r\n"));
        assert_eq!(reply, format!("-ERR {error}\r\n"));
    }
}

/// A query names the unit after `cost.`.
#[test]
fn proxies_give_costs_of_units() {
    let server = server_on(&Clock::manual()).policy(policy("model", &PER_MINUTE)).start().unwrap();
    let mut client = Client::http(&server);
    let mut check = |query: &str| client.get(&format!("/check?policy=model&key=a&{query}"));
    assert_eq!(check("cost.tokens=90001").header("retry-after"), None);
    assert_eq!(check("cost.tokens=89999&cost.tokens=0").status, 200);
    let denied = check("cost.tokens=2");
    assert_eq!((denied.status, denied.header("retry-after")), (429, Some("1")));
    let quotas = "\"model-1\";q=60;w=60, \"model-2\";q=90000;qu=\"tokens\";w=60";
    assert_eq!(denied.header("ratelimit-policy"), Some(quotas));
    assert_eq!(denied.header("ratelimit"), Some("\"model-2\";r=1;t=1"));
}
