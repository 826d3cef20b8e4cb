//! The same sequence of operations gets the same decisions from the library, over HTTP and over RESP.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

#[allow(dead_code, reason = "other tests need the rest of it")]
mod support;

use std::time::Duration;

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;
use serde_json::{Map, Value, json};
use support::http::{Response, server_on};
use support::{Client, apply, array, policy};
use tollgate::{Clock, Decision, Error, Limiter, MemoryStore, Policy, Span, Time};
use tollgate_core::Act;
use tollgate_server::ServerBuilder;

/// Policies with one key, with leases, with several subjects, with limits for all keys together, and with costs of
/// two units.
const POLICIES: [(&str, &[&str]); 6] = [
    ("default", &["gcra 7/s burst 20", "fixed-window 60/min"]),
    ("db", &["concurrency 15 ttl 5s"]),
    (
        "login",
        &["sliding-counters 12/s resolution 100ms per ip", "token-bucket 5/s burst 10 per user"],
    ),
    (
        "mixed",
        &[
            "sliding-window 20/s per ip",
            "leaky-bucket size 9 drip 2 every 200ms",
            "gcra 50/s per all",
        ],
    ),
    ("all", &["fixed-window 30/s per all"]),
    (
        "model",
        &[
            "gcra 60/min burst 20",
            "gcra 90000/min burst 900 of tokens",
            "fixed-window 500/s of bytes per all",
        ],
    ),
];

fn policies() -> [Policy; 6] {
    POLICIES.map(|(name, lines)| policy(name, lines))
}

/// One operation.
#[derive(Debug, Clone)]
struct Operation {
    act: Act,
    /// Index of the policy.
    policy: usize,
    /// The nameless key, the address and the user.
    keys: [u8; 3],
    cost: Option<u64>,
    /// Costs of tokens and bytes, which only one policy knows.
    unit_costs: [Option<u64>; 2],
    factor: Option<&'static str>,
    id: Option<u8>,
    /// Time since the previous operation.
    delay: Duration,
    /// Whether to use the proxy check, if the operation has one.
    proxy: bool,
}

fn operation() -> impl Strategy<Value = Operation> {
    let delay = prop_oneof![
        4 => Just(0),
        4 => 0_u64..300_000,
        2 => 0_u64..3_000_000,
        1 => 0_u64..100_000_000,
    ];
    let cost = prop_oneof![20 => 0_u64..12, 2 => 0_u64..1_000, 1 => Just(u64::from(u32::MAX))];
    let factor = select(vec!["0", "0.5", "1", "1.25", "2", "0.000000001", "1000000"]);
    let factor = prop_oneof![5 => Just(None), 1 => factor.prop_map(Some)];
    let act = prop_oneof![2 => Just(Act::Check), 3 => select(Act::ALL.to_vec())];
    let first = (act, 0..POLICIES.len(), [0_u8..3, 0_u8..3, 0_u8..3], any::<bool>());
    let unit_cost =
        || prop_oneof![10 => 0_u64..300, 1 => Just(901), 1 => Just(u64::from(u32::MAX))];
    let unit_costs = [of(unit_cost()), of(unit_cost())];
    // A unit that no limit has is an error.
    let has_units = prop_oneof![30 => Just(false), 1 => Just(true)];
    (first, of(cost), (unit_costs, has_units), factor, of(0_u8..4), delay).prop_map(
        |((act, policy, keys, proxy), cost, (unit_costs, has_units), factor, id, delay)| {
            let delay = Duration::from_micros(delay);
            let has_units = has_units || POLICIES[policy].0 == "model";
            let unit_costs = unit_costs.map(|cost| cost.filter(|_| has_units));
            Operation { act, policy, keys, cost, unit_costs, factor, id, delay, proxy }
        },
    )
}

impl Operation {
    /// Returns the keys with the names of their subjects; the nameless key has the name "".
    fn keys(&self) -> Vec<(&'static str, String)> {
        let [nameless, ip, user] = self.keys;
        let key = |name: &'static str, number: u8| (name, format!("{name}\0 &=%+\"ä\r\n{number}"));
        match POLICIES[self.policy].0 {
            "login" => vec![key("ip", ip), key("user", user)],
            "mixed" => vec![key("", nameless), key("ip", ip)],
            "all" => vec![],
            _ => vec![key("", nameless)],
        }
    }

    fn unit_costs(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let costs = ["tokens", "bytes"].into_iter().zip(self.unit_costs);
        costs.filter_map(|(unit, cost)| Some((unit, cost?)))
    }

    fn id(&self) -> Option<String> {
        self.id.map(|id| format!("id {id}"))
    }

    /// Returns the arguments of the RESP command.
    fn args(&self) -> Vec<String> {
        let mut args = vec![format!("TG.{}", self.act.name().to_uppercase())];
        args.push(POLICIES[self.policy].0.into());
        for (name, key) in self.keys() {
            args.push(if name.is_empty() { key } else { format!("{name}={key}") });
        }
        let options = [
            ("COST", self.cost.map(|cost| cost.to_string())),
            ("FACTOR", self.factor.map(String::from)),
            ("ID", self.id()),
        ];
        for (name, value) in options {
            args.extend(value.into_iter().flat_map(|value| [name.into(), value]));
        }
        args.extend(
            self.unit_costs().flat_map(|(unit, cost)| ["COST".into(), format!("{unit}={cost}")]),
        );
        args
    }

    /// Returns the JSON body.
    fn json(&self) -> String {
        let mut body = Map::new();
        body.insert("policy".into(), POLICIES[self.policy].0.into());
        let (nameless, named): (Vec<_>, Vec<_>) =
            self.keys().into_iter().partition(|(name, _)| name.is_empty());
        body.extend(nameless.into_iter().map(|(_, key)| ("key".into(), key.into())));
        if !named.is_empty() {
            let named = named.into_iter().map(|(name, key)| (name.to_owned(), key.into()));
            body.insert("keys".into(), Value::Object(named.collect()));
        }
        body.extend(self.cost.map(|cost| ("cost".into(), cost.into())));
        let costs: Map<_, _> =
            self.unit_costs().map(|(unit, cost)| (unit.to_owned(), cost.into())).collect();
        if !costs.is_empty() {
            body.insert("costs".into(), Value::Object(costs));
        }
        body.extend(self.id().map(|id| ("id".into(), id.into())));
        let text = json!(body).to_string();
        // The factor is inserted as text, since a float could be another number.
        match self.factor {
            Some(factor) => text.replacen('{', &format!("{{\"factor\":{factor},"), 1),
            None => text,
        }
    }

    /// Returns the target of the proxy check.
    fn target(&self) -> String {
        let escaped =
            |text: &str| -> String { text.bytes().map(|b| format!("%{b:02x}")).collect() };
        let mut target = format!("/check?policy={}", POLICIES[self.policy].0);
        for (name, key) in self.keys() {
            let name = if name.is_empty() { "key".to_owned() } else { format!("key.{name}") };
            target += &format!("&{name}={}", escaped(&key));
        }
        let options = [
            ("cost", self.cost.map(|cost| cost.to_string())),
            ("peek", (self.act == Act::Peek).then(|| "1".into())),
        ];
        for (name, value) in options {
            target.extend(value.map(|value| format!("&{name}={value}")));
        }
        target.extend(self.unit_costs().map(|(unit, cost)| format!("&cost.{unit}={cost}")));
        target
    }

    /// Returns the decision of the library.
    fn apply(&self, limiters: &[Limiter; 6]) -> Result<Decision, Error> {
        let (keys, id) = (self.keys(), self.id());
        let keys: Vec<_> = keys.iter().map(|(name, key)| (*name, key)).collect();
        let mut request = limiters[self.policy].keys(&keys).cost(self.cost.unwrap_or(1));
        for (unit, cost) in self.unit_costs() {
            request = request.cost_of(unit, cost);
        }
        if let Some(factor) = self.factor {
            request = request.factor(factor.parse().unwrap());
        }
        if let Some(id) = &id {
            request = request.id(id);
        }
        apply(&request, self.act)
    }

    /// Sends the operation over HTTP. Returns the response if it differs from the expected decision.
    fn http_mismatch(
        &self,
        client: &mut Client,
        expected: &Result<Decision, Error>,
    ) -> Option<String> {
        // The proxy check supports only check and peek, without ids.
        let has_proxy_check = matches!(self.act, Act::Check | Act::Peek);
        let by_proxy = self.proxy && has_proxy_check && self.id.is_none() && self.factor.is_none();
        let response = if by_proxy {
            client.get(&self.target())
        } else {
            client.post(&format!("/v1/{}", self.act), &self.json())
        };
        let is_same = match expected {
            Err(_) => response.status == 422,
            Ok(decision) if by_proxy => {
                // Where limits count different units, the header tells what remains of the one that binds.
                let has_units = POLICIES[self.policy].1.iter().any(|line| line.contains(" of "));
                let Decision { remaining, bound_remaining, .. } = *decision;
                let remaining = if has_units { bound_remaining } else { remaining };
                matches_proxy_check(&response, decision, remaining)
            }
            Ok(decision) => {
                let denied = if decision.not_found { 409 } else { 429 };
                (response.status == if decision.allowed { 200 } else { denied })
                    && from_json(&response.json()) == numbers(decision)
            }
        };
        (!is_same).then(|| format!("{response:?}"))
    }

    /// Sends the operation over RESP. Returns the reply if it differs from the expected decision.
    fn resp_mismatch(
        &self,
        client: &mut Client,
        expected: &Result<Decision, Error>,
    ) -> Option<String> {
        let reply = client.request(array(&self.args()));
        let is_same = match expected {
            Err(_) => reply.starts_with("-ERR "),
            Ok(decision) => reply == to_resp(numbers(decision)),
        };
        (!is_same).then_some(reply)
    }
}

/// The numbers of a decision, with times in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Numbers {
    allowed: bool,
    limit: Option<u64>,
    remaining: Option<u64>,
    retry: Option<u64>,
    reset: u64,
}

fn numbers(decision: &Decision) -> Numbers {
    Numbers {
        allowed: decision.allowed,
        limit: decision.limit,
        remaining: decision.remaining,
        retry: decision.retry_after.map(Span::as_micros),
        reset: decision.reset_after.as_micros(),
    }
}

fn from_json(decision: &Value) -> Numbers {
    let micros = |value: &Value| {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "as exact")]
        value.as_f64().map(|millis| (millis * 1_000.0).round() as u64)
    };
    Numbers {
        allowed: decision["allowed"].as_bool().unwrap(),
        limit: decision["limit"].as_u64(),
        remaining: decision["remaining"].as_u64(),
        retry: micros(&decision["retry_after_ms"]),
        reset: micros(&decision["reset_after_ms"]).unwrap(),
    }
}

/// Encodes a RESP reply: -1 means never or unlimited, and waits are rounded up.
fn to_resp(numbers: Numbers) -> String {
    let number = |value: u64| i64::try_from(value).unwrap();
    let millis = |micros: u64| number(micros.div_ceil(1_000));
    let numbers = [
        i64::from(numbers.allowed),
        numbers.limit.map_or(-1, number),
        numbers.remaining.map_or(-1, number),
        numbers.retry.map_or(-1, millis),
        millis(numbers.reset),
    ];
    format!("*5\r\n{}", numbers.map(|number| format!(":{number}\r\n")).concat())
}

/// Returns whether the response of a proxy check matches a decision.
fn matches_proxy_check(response: &Response, decision: &Decision, remaining: Option<u64>) -> bool {
    let retry = decision.retry_after.filter(|_| !decision.allowed);
    let retry = retry.map(|wait| wait.as_secs_ceil().max(1).to_string());
    let left = remaining.map(|left| format!("\";r={left}"));
    let header = response.header("ratelimit");
    let header = header.map(|header| header.split(';').take(2).collect::<Vec<_>>().join(";"));
    (response.status == if decision.allowed { 200 } else { 429 })
        && response.header("retry-after") == retry.as_deref()
        && match (&header, &left) {
            (Some(header), Some(left)) => header.ends_with(left),
            (header, left) => header.is_none() && left.is_none(),
        }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 40, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..Default::default()
    })]

    #[test]
    fn all_protocols_decide_the_same(sequence in vec(operation(), 300..400)) {
        let clock = Clock::manual();
        clock.set(Time::from_micros(1_700_000_000_000_000).unwrap());
        let start = || policies().into_iter().fold(server_on(&clock), ServerBuilder::policy).start().unwrap();
        let (http, resp) = (start(), start());
        let store = MemoryStore::builder().clock(clock.clone()).build().unwrap();
        let limiters = POLICIES.map(|(name, lines)| store.limiter(name, lines.iter().copied()).unwrap());
        let (mut by_http, mut by_resp) = (Client::http(&http), Client::resp(&resp));
        for operation in &sequence {
            clock.advance(operation.delay);
            let expected = operation.apply(&limiters);
            let mismatch = operation.http_mismatch(&mut by_http, &expected);
            prop_assert_eq!(mismatch, None, "HTTP: {:?} {:?}", operation, expected);
            let mismatch = operation.resp_mismatch(&mut by_resp, &expected);
            prop_assert_eq!(mismatch, None, "RESP: {:?} {:?}", operation, expected);
        }
    }
}
