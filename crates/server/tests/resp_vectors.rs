//! `CL.THROTTLE` replies as the conformance vectors require, and `TG.*` commands decide as the library does.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

#[allow(dead_code, reason = "other tests need the rest of it")]
mod support;

use std::time::Duration;

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;
use serde_json::Value;
use support::{Client, apply, array, command, policy, server_on};
use tollgate::{Clock, Decision, Error, Limiter, MemoryStore, Policy, Span, Time};
use tollgate_core::Act;

const CL_THROTTLE: &str = include_str!("../../core/src/contract/vectors/cl_throttle.json");

/// Encodes a reply of five numbers.
fn numbers(numbers: [i64; 5]) -> String {
    format!("*5\r\n{}", numbers.map(|number| format!(":{number}\r\n")).concat())
}

#[test]
fn cl_throttle_replies_match_the_vectors() {
    let vectors: Value = serde_json::from_str(CL_THROTTLE).unwrap();
    let clock = Clock::manual();
    let server = server_on(&clock).start().unwrap();
    let mut client = Client::resp(&server);
    let number = |value: &Value| value.as_i64().unwrap();
    for call in vectors["calls"].as_array().unwrap() {
        let key = call["id"].as_str().unwrap();
        let limit = ["max_burst", "count", "period_s"].map(|field| call[field].to_string());
        for step in call["steps"].as_array().unwrap() {
            clock.set(Time::from_micros(step["t_ms"].as_u64().unwrap() * 1_000).unwrap());
            let line = format!("CL.THROTTLE {key} {} {}", limit.join(" "), step["quantity"]);
            let reply: Vec<_> = step["reply"].as_array().unwrap().iter().map(number).collect();
            let expected = numbers(reply.try_into().unwrap());
            assert_eq!(client.request(command(&line)), expected, "{line} at {}", step["t_ms"]);
        }
    }
}

#[test]
fn cl_throttle_errors_match_the_vectors() {
    let vectors: Value = serde_json::from_str(CL_THROTTLE).unwrap();
    let server = support::server().start().unwrap();
    let mut client = Client::resp(&server);
    let errors = vectors["errors"].as_array().unwrap();
    assert!(!errors.is_empty());
    for error in errors {
        let line = format!("CL.THROTTLE {}", error["args"].as_str().unwrap());
        let expected = format!("-ERR {}", error["error"].as_str().unwrap());
        let reply = client.request(command(&line));
        assert!(reply.starts_with(&expected), "{line}: {reply}");
    }
}

/// One operation on one of two policies.
#[derive(Debug, Clone)]
struct Operation {
    act: Act,
    /// Whether the policy is `login`, which has several subjects.
    login: bool,
    keys: [u8; 2],
    cost: Option<u64>,
    factor: Option<&'static str>,
    id: Option<u8>,
    /// Time since the previous operation.
    delay: Duration,
}

fn operation() -> impl Strategy<Value = Operation> {
    let delay = prop_oneof![
        4 => Just(0),
        4 => 0_u64..300_000,
        2 => 0_u64..3_000_000,
        1 => 0_u64..100_000_000,
    ];
    let cost = prop_oneof![20 => 0_u64..12, 2 => 0_u64..1_000, 1 => Just(u64::from(u32::MAX))];
    let factor = select(vec!["0", "0.5", "1", "1.25", "2", "1000000"]);
    let first = (select(Act::ALL.to_vec()), any::<bool>(), [0_u8..3, 0_u8..3]);
    (first, of(cost), prop_oneof![5 => Just(None), 1 => factor.prop_map(Some)], of(0_u8..4), delay)
        .prop_map(|((act, login, keys), cost, factor, id, delay)| {
            let delay = Duration::from_micros(delay);
            Operation { act, login, keys, cost, factor, id, delay }
        })
}

impl Operation {
    fn key(&self, index: usize) -> String {
        format!("{}\0 \r\n{}", ["a", "b"][index], self.keys[index])
    }

    fn id(&self) -> Option<String> {
        self.id.map(|id| format!("id {id}"))
    }

    /// Returns the arguments of the command.
    fn args(&self) -> Vec<String> {
        let mut args = vec![format!("TG.{}", self.act.name().to_uppercase())];
        if self.login {
            args.push("login".into());
            args.extend([format!("ip={}", self.key(0)), format!("user={}", self.key(1))]);
        } else {
            args.extend(["api".into(), self.key(0)]);
        }
        let options = [
            ("COST", self.cost.map(|cost| cost.to_string())),
            ("FACTOR", self.factor.map(String::from)),
            ("ID", self.id()),
        ];
        for (name, value) in options {
            args.extend(value.into_iter().flat_map(|value| [name.into(), value]));
        }
        args
    }

    /// Returns the decision of the library.
    fn apply(&self, limiters: &[Limiter; 2]) -> Result<Decision, Error> {
        let (ip, user, id) = (self.key(0), self.key(1), self.id());
        let keys = [("ip", &ip), ("user", &user)];
        let [api, login] = limiters;
        let mut request = if self.login { login.keys(&keys) } else { api.key(&ip) };
        request = request.cost(self.cost.unwrap_or(1));
        if let Some(factor) = self.factor {
            request = request.factor(factor.parse().unwrap());
        }
        if let Some(id) = &id {
            request = request.id(id);
        }
        apply(&request, self.act)
    }
}

/// Encodes a decision: -1 means never or unlimited, and waits are rounded up.
fn encode(decision: &Decision) -> String {
    let number = |value: u64| i64::try_from(value).unwrap();
    let millis = |span: Span| number(span.as_micros().div_ceil(1_000));
    numbers([
        i64::from(decision.allowed),
        decision.limit.map_or(-1, number),
        decision.remaining.map_or(-1, number),
        decision.retry_after.map_or(-1, millis),
        millis(decision.reset_after),
    ])
}

fn policies() -> [Policy; 2] {
    let login = [
        "sliding-counters 12/s resolution 100ms per ip",
        "token-bucket 5/s burst 10 per user",
        "fixed-window 60/min per all",
    ];
    [policy("api", &["gcra 7/s burst 20", "concurrency 15 ttl 5s"]), policy("login", &login)]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 20, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..Default::default()
    })]

    #[test]
    fn all_operations_decide_as_the_library_does(sequence in vec(operation(), 300..400)) {
        let clock = Clock::manual();
        clock.set(Time::from_micros(1_700_000_000_000_000).unwrap());
        let [api, login] = policies();
        let server = server_on(&clock).policy(api).policy(login).start().unwrap();
        let store = MemoryStore::builder().clock(clock.clone()).build().unwrap();
        let limiters = policies().map(|policy| {
            store.limiter(policy.name().as_str(), policy.limits().iter().cloned()).unwrap()
        });
        let mut client = Client::resp(&server);
        for operation in &sequence {
            clock.advance(operation.delay);
            let reply = client.request(array(&operation.args()));
            match operation.apply(&limiters) {
                Ok(decision) => prop_assert_eq!(reply, encode(&decision), "{:?}", operation),
                Err(error) => prop_assert!(reply.starts_with("-ERR "), "{reply} {error} {operation:?}"),
            }
        }
    }
}
