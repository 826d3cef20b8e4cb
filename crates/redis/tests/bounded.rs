//! The state of one key is bounded, in Redis as in memory: the operation that would exceed the maximum number of
//! entries fails on both, and changes nothing.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod support;

use std::time::Duration;

use support::operations::{Rng, policy};
use tokio::runtime::Runtime;
use tollgate_core::{
    Act, Decision, MAX_ENTRIES, PlainStore, Policy, Request, StoreError, Time, apply_one,
};
use tollgate_fixtures::Server;
use tollgate_redis::{RedisStore, RedisStoreBuilder};

/// Limits of rules with entries, and the time between two charges that make one entry each.
const LIMITS: [(&str, u64); 3] = [
    ("sliding-log 5/10000h", 1),
    ("sliding-counters 5/10002h resolution 1h", 3_600_000_000),
    ("concurrency 5 ttl 20000h", 1),
];

/// Applies the same operations to Redis and to a plain store, and requires the same answers.
struct Both<'s> {
    runtime: &'s Runtime,
    redis: &'s RedisStore,
    plain: PlainStore,
    policy: Policy,
}

impl<'s> Both<'s> {
    fn new(runtime: &'s Runtime, redis: &'s RedisStore, line: &str) -> Both<'s> {
        let policy = policy(&line.replace([' ', '/'], "-"), &[line]);
        Both { runtime, redis, plain: PlainStore::default(), policy }
    }

    fn apply(&self, act: Act, id: Option<&str>, micros: u64) -> Result<Decision, StoreError> {
        let request = id.map_or(Request::of("a"), |id| Request::of("a").id(id));
        self.apply_request(act, &request, micros)
    }

    fn apply_request(
        &self,
        act: Act,
        request: &Request<'_>,
        micros: u64,
    ) -> Result<Decision, StoreError> {
        let at = Time::from_micros(1_700_000_000_000_000 + micros).unwrap();
        let [redis, plain] = request
            .with_op(&self.policy, act, |op| {
                let redis = self.runtime.block_on(apply_one(self.redis, op, Some(at)));
                [redis, self.plain.apply_one(op, at)]
            })
            .unwrap();
        match (&redis, &plain) {
            (Ok(redis), Ok(plain)) => {
                assert_eq!(redis, plain, "{}: {act} {micros}", self.policy.limits()[0]);
            }
            (Err(redis), Err(plain)) => assert!(redis.is_overdrawn() && plain.is_overdrawn()),
            differ => panic!("{}: {act} {micros}: {differ:?}", self.policy.limits()[0]),
        }
        redis
    }
}

fn connect(redis: RedisStoreBuilder) -> (Runtime, RedisStore) {
    let runtime = Runtime::new().unwrap();
    let redis = redis.response_timeout(Duration::from_secs(60));
    let redis = runtime.block_on(redis.connect()).unwrap();
    (runtime, redis)
}

#[test]
fn charges_beyond_the_maximum_number_of_entries_fail() {
    let Some(server) = Server::redis() else { return };
    let (runtime, redis) = connect(RedisStore::builder(&server.url()));
    for (line, step) in LIMITS {
        let both = Both::new(&runtime, &redis, line);
        let is_full = |entry: &u64| both.apply(Act::Charge, None, entry * step).is_err();
        let full = (0..).find(is_full).unwrap();
        assert!((MAX_ENTRIES as u64..=MAX_ENTRIES as u64 + 1).contains(&full), "{line}: {full}");
        let now = full * step;
        assert!(!both.apply(Act::Check, None, now).unwrap().allowed, "{line}");
        let before = both.apply(Act::Peek, None, now).unwrap();
        assert!(both.apply(Act::Charge, Some("id"), now).is_err(), "{line}");
        assert_eq!(both.apply(Act::Peek, None, now).unwrap(), before, "{line}");
        let _ = both.apply(Act::Refund, None, now).unwrap();
        assert!(both.apply(Act::Charge, None, now).is_ok(), "{line}: a refund makes room");
        let _ = both.apply(Act::Reset, None, now).unwrap();
    }
}

/// One limit of each rule, full with some two thousand, and which drains or forgets within an hour or two.
const ROOMY: [&str; 10] = [
    "gcra 2000/h burst 3000",
    "leaky-bucket size 3000 drip 7 every 10s",
    "fixed-window 3000/h",
    "fixed-window 3000/day",
    "request-window 3000/h",
    "sliding-log 3000/h",
    "sliding-counters 3000/h resolution 1m",
    "sliding-window 3000/h",
    "ar1 max 3000 decay 1.1 resolution 1m",
    "concurrency 3000 ttl 30m",
];

/// With as many open reservations as there can be, and some that are pushed out by others, every operation answers
/// as in memory.
#[test]
fn open_reservations_at_their_bound_are_as_in_memory() {
    let Some(server) = Server::redis() else { return };
    are_as_in_memory(RedisStore::builder(&server.url()));
}

#[test]
fn open_reservations_in_tiny_parts_are_as_in_memory() {
    let Some(server) = Server::redis() else { return };
    are_as_in_memory(RedisStore::builder(&server.url()).with_tiny_parts());
}

/// With as many open reservations as there can be, and some that are pushed out by others, every operation answers
/// as in memory.
fn are_as_in_memory(redis: RedisStoreBuilder) {
    let (runtime, redis) = connect(redis);
    let seed = std::env::var("TOLLGATE_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    for (index, line) in (seed..).zip(ROOMY) {
        let both = Both::new(&runtime, &redis, line);
        let (mut rng, mut now) = (Rng::new(index), 10_000_000_000);
        for step in 0..2_600_u64 {
            let mostly_reserve = !(1_500..2_000).contains(&step);
            let (act, number) = match rng.below(if mostly_reserve { 40 } else { 8 }) {
                0 => (Act::Check, step),
                1 | 2 => (Act::Settle, rng.below(step + 1)),
                3 => (Act::Refund, step),
                4 => (Act::Charge, step),
                5 => (Act::Peek, step),
                6 if line.starts_with("concurrency") => (Act::Release, rng.below(step + 1)),
                7 if line.starts_with("concurrency") => (Act::Renew, rng.below(step + 1)),
                _ => (Act::Reserve, step),
            };
            let id = format!("{number}");
            let request = Request::of("a").id(&id).cost(rng.below(4));
            // Mostly a moment later, sometimes at the same instant, minutes later, or earlier.
            match rng.below(200) {
                0..40 => {}
                40 => now += 60_000_000,
                41 => now -= 20_000_000,
                _ => now += rng.below(2_000_000),
            }
            if step == 2_000 {
                // Some of them expire.
                now += 2_000_000_000;
            }
            let _ = both.apply_request(act, &request, now);
        }
    }
}
