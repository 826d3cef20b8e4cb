//! The state of one key is bounded, in Redis as in memory: the operation that would exceed the maximum number of
//! entries fails on both, and changes nothing.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use std::time::Duration;

use support::operations::policy;
use tokio::runtime::Runtime;
use tollgate_core::{
    Act, Decision, MAX_ENTRIES, PlainStore, Policy, Request, StoreError, Time, apply_one,
};
use tollgate_fixtures::Server;
use tollgate_redis::RedisStore;

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

impl Both<'_> {
    fn apply(&self, act: Act, id: Option<&str>, micros: u64) -> Result<Decision, StoreError> {
        let request = id.map_or(Request::of("a"), |id| Request::of("a").id(id));
        let at = Time::from_micros(1_700_000_000_000_000 + micros).unwrap();
        let [redis, plain] = request
            .with_op(&self.policy, act, |op| {
                let redis = self.runtime.block_on(apply_one(self.redis, op, Some(at)));
                [redis, self.plain.apply_one(op, at)]
            })
            .unwrap();
        match (&redis, &plain) {
            (Ok(redis), Ok(plain)) => assert_eq!(redis, plain, "{act} {micros}"),
            (Err(redis), Err(plain)) => assert!(redis.is_overdrawn() && plain.is_overdrawn()),
            differ => panic!("{act} {micros}: {differ:?}"),
        }
        redis
    }
}

#[test]
fn charges_beyond_the_maximum_number_of_entries_fail() {
    let Some(server) = Server::redis() else { return };
    let runtime = Runtime::new().unwrap();
    let redis = RedisStore::builder(&server.url()).response_timeout(Duration::from_secs(60));
    let redis = runtime.block_on(redis.connect()).unwrap();
    for (line, step) in LIMITS {
        let policy = policy(line.split(' ').next().unwrap(), &[line]);
        let both = Both { runtime: &runtime, redis: &redis, plain: PlainStore::default(), policy };
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
