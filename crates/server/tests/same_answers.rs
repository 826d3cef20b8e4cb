//! One sequence asked of the library, over HTTP and over RESP: they all say the same.

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
use support::http::{Answer, server_on};
use support::{Client, array, done, policy};
use tollgate::{Clock, Decision, Error, Limiter, MemoryStore, Policy, Span, Time};
use tollgate_core::Act;
use tollgate_server::ServerBuilder;

/// The policies: of one key, of a lease, of several subjects, and of everybody at once.
const POLICIES: [(&str, &[&str]); 5] = [
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
];

fn policies() -> [Policy; 5] {
    POLICIES.map(|(name, lines)| policy(name, lines))
}

/// One operation.
#[derive(Debug, Clone)]
struct Asked {
    act: Act,
    /// Which policy.
    place: usize,
    /// The nameless key, the address and the user.
    keys: [u8; 3],
    cost: Option<u64>,
    factor: Option<&'static str>,
    id: Option<u8>,
    /// How long after the one before it.
    later: Duration,
    /// Whether a proxy asks, where one can.
    proxy: bool,
}

fn asked() -> impl Strategy<Value = Asked> {
    let later = prop_oneof![
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
    (first, of(cost), factor, of(0_u8..4), later).prop_map(
        |((act, place, keys, proxy), cost, factor, id, later)| {
            let later = Duration::from_micros(later);
            Asked { act, place, keys, cost, factor, id, later, proxy }
        },
    )
}

impl Asked {
    /// The keys of the policy by the names of their subjects; the nameless one is "".
    fn keys(&self) -> Vec<(&'static str, String)> {
        let [nameless, ip, user] = self.keys;
        let key = |name: &'static str, number: u8| (name, format!("{name}\0 &=%+\"ä\r\n{number}"));
        match POLICIES[self.place].0 {
            "login" => vec![key("ip", ip), key("user", user)],
            "mixed" => vec![key("", nameless), key("ip", ip)],
            "all" => vec![],
            _ => vec![key("", nameless)],
        }
    }

    fn id(&self) -> Option<String> {
        self.id.map(|id| format!("id {id}"))
    }

    /// As RESP has it.
    fn words(&self) -> Vec<String> {
        let mut words = vec![format!("TG.{}", self.act.name().to_uppercase())];
        words.push(POLICIES[self.place].0.into());
        for (name, key) in self.keys() {
            words.push(if name.is_empty() { key } else { format!("{name}={key}") });
        }
        let options = [
            ("COST", self.cost.map(|cost| cost.to_string())),
            ("FACTOR", self.factor.map(String::from)),
            ("ID", self.id()),
        ];
        for (name, value) in options {
            words.extend(value.into_iter().flat_map(|value| [name.into(), value]));
        }
        words
    }

    /// As JSON has it.
    fn json(&self) -> String {
        let mut body = Map::new();
        body.insert("policy".into(), POLICIES[self.place].0.into());
        let (nameless, named): (Vec<_>, Vec<_>) =
            self.keys().into_iter().partition(|(name, _)| name.is_empty());
        body.extend(nameless.into_iter().map(|(_, key)| ("key".into(), key.into())));
        if !named.is_empty() {
            let named = named.into_iter().map(|(name, key)| (name.to_owned(), key.into()));
            body.insert("keys".into(), Value::Object(named.collect()));
        }
        body.extend(self.cost.map(|cost| ("cost".into(), cost.into())));
        body.extend(self.id().map(|id| ("id".into(), id.into())));
        let text = json!(body).to_string();
        // A factor is told digit by digit, not as a float.
        match self.factor {
            Some(factor) => text.replacen('{', &format!("{{\"factor\":{factor},"), 1),
            None => text,
        }
    }

    /// As a proxy asks.
    fn target(&self) -> String {
        let escaped =
            |text: &str| -> String { text.bytes().map(|b| format!("%{b:02x}")).collect() };
        let mut target = format!("/check?policy={}", POLICIES[self.place].0);
        for (name, key) in self.keys() {
            let name = if name.is_empty() { "key".to_owned() } else { format!("key.{name}") };
            target += &format!("&{name}={}", escaped(&key));
        }
        let options = [
            ("cost", self.cost.map(|cost| cost.to_string())),
            ("factor", self.factor.map(String::from)),
            ("peek", (self.act == Act::Peek).then(|| "1".into())),
        ];
        for (name, value) in options {
            target.extend(value.map(|value| format!("&{name}={value}")));
        }
        target
    }

    /// What the library says.
    fn answer(&self, limiters: &[Limiter; 5]) -> Result<Decision, Error> {
        let (keys, id) = (self.keys(), self.id());
        let mut request = limiters[self.place].keys(&keys).cost(self.cost.unwrap_or(1));
        if let Some(factor) = self.factor {
            request = request.factor(factor.parse().unwrap());
        }
        if let Some(id) = &id {
            request = request.id(id);
        }
        done(&request, self.act)
    }

    /// What is said over HTTP, if it is not what the library says.
    fn wrong_http(
        &self,
        client: &mut Client,
        expected: &Result<Decision, Error>,
    ) -> Option<String> {
        // Proxies name no ids.
        let is_look = matches!(self.act, Act::Check | Act::Peek);
        let by_proxy = self.proxy && is_look && self.id.is_none();
        let answer = if by_proxy {
            client.get(&self.target())
        } else {
            client.post(&format!("/v1/{}", self.act), &self.json())
        };
        let is_same = match expected {
            Err(_) => answer.status == 422,
            Ok(decision) if by_proxy => passed_on(&answer, decision),
            Ok(decision) => {
                // Whoever can only be told is not denied.
                let denied = !decision.allowed;
                (answer.status == if denied { 429 } else { 200 })
                    && in_json(&answer.json()) == numbers(decision)
            }
        };
        (!is_same).then(|| format!("{answer:?}"))
    }

    /// The same over RESP.
    fn wrong_resp(
        &self,
        client: &mut Client,
        expected: &Result<Decision, Error>,
    ) -> Option<String> {
        let reply = client.ask(array(&self.words()));
        let is_same = match expected {
            Err(_) => reply.starts_with("-ERR "),
            Ok(decision) => reply == in_resp(numbers(decision)),
        };
        (!is_same).then_some(reply)
    }
}

/// What a decision says; times in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RuleParams {
    allowed: bool,
    limit: Option<u64>,
    remaining: Option<u64>,
    retry: Option<u64>,
    reset: u64,
}

fn numbers(decision: &Decision) -> RuleParams {
    RuleParams {
        allowed: decision.allowed,
        limit: decision.limit,
        remaining: decision.remaining,
        retry: decision.retry_after.map(Span::as_micros),
        reset: decision.reset_after.as_micros(),
    }
}

fn in_json(told: &Value) -> RuleParams {
    let micros = |value: &Value| {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "as exact")]
        value.as_f64().map(|millis| (millis * 1_000.0).round() as u64)
    };
    RuleParams {
        allowed: told["allowed"].as_bool().unwrap(),
        limit: told["limit"].as_u64(),
        remaining: told["remaining"].as_u64(),
        retry: micros(&told["retry_after_ms"]),
        reset: micros(&told["reset_after_ms"]).unwrap(),
    }
}

/// Five whole numbers: -1 is never, or no bound, and a wait is long enough.
fn in_resp(numbers: RuleParams) -> String {
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

/// Whether a proxy is told this decision.
fn passed_on(answer: &Answer, decision: &Decision) -> bool {
    let retry = decision.retry_after.filter(|_| !decision.allowed);
    let retry = retry.map(|wait| wait.as_secs_ceil().max(1).to_string());
    let left = decision.remaining.map(|left| format!("\";r={left}"));
    let told = answer.field("ratelimit").map(|told| told.split(';').take(2).collect::<Vec<_>>());
    let told = told.map(|told| told.join(";"));
    (answer.status == if decision.allowed { 200 } else { 429 })
        && answer.field("retry-after") == retry.as_deref()
        && match (&told, &left) {
            (Some(told), Some(left)) => told.ends_with(left),
            (told, left) => told.is_none() && left.is_none(),
        }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 40, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..Default::default()
    })]

    #[test]
    fn all_of_them_say_the_same(sequence in vec(asked(), 300..400)) {
        let clock = Clock::manual();
        clock.set(Time::from_micros(1_700_000_000_000_000).unwrap());
        let start = || policies().into_iter().fold(server_on(&clock), ServerBuilder::policy).start().unwrap();
        let (http, resp) = (start(), start());
        let store = MemoryStore::builder().clock(clock.clone()).build().unwrap();
        let limiters = policies().map(|policy| Limiter::new(policy).with_store(store.clone()));
        let (mut by_http, mut by_resp) = (Client::http(&http), Client::of(&resp));
        for asked in &sequence {
            clock.advance(asked.later);
            let expected = asked.answer(&limiters);
            let wrong = asked.wrong_http(&mut by_http, &expected);
            prop_assert_eq!(wrong, None, "HTTP: {:?} {:?}", asked, expected);
            let wrong = asked.wrong_resp(&mut by_resp, &expected);
            prop_assert_eq!(wrong, None, "RESP: {:?} {:?}", asked, expected);
        }
    }
}
