//! Reservations are settled alike in memory and in Redis: over several cluster nodes, under limits that change, by a
//! clock that is stepped back.
//!
//! `TOLLGATE_SEED` sets the seed of the random operations, `TOLLGATE_REMOTE_OPERATIONS` how many there are of each rule.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod support;

use std::time::Duration;

use support::operations::Rng;
use tokio::runtime::Runtime;
use tollgate_core::{
    Act, Id, Item, Key, Limit, LimitStatuses, Name, Op, PlainStore, Time, apply_one,
};
use tollgate_fixtures::{Cluster, Server};
use tollgate_redis::{RedisStore, RedisStoreBuilder};

/// A step: the line of the limit, the second, the operation, its id and cost.
type Step<'s> = (&'s str, u64, Act, &'s str, u64);

/// Redis and a plain store.
struct Both {
    runtime: Runtime,
    redis: RedisStore,
    plain: PlainStore,
}

impl Both {
    fn new(redis: RedisStoreBuilder) -> Both {
        let runtime = Runtime::new().unwrap();
        let redis = redis.response_timeout(Duration::from_secs(60));
        let redis = runtime.block_on(redis.connect()).unwrap();
        Both { runtime, redis, plain: PlainStore::default() }
    }

    /// Applies an operation to both, and requires the same answers. `keys` are the subjects of the limits.
    fn apply(
        &self,
        limits: &[Limit],
        keys: &[String],
        (act, id, cost): (Act, &str, u64),
        micros: u64,
    ) {
        let items = limits.iter().zip(keys);
        let items: Vec<Item<'_>> = items
            .map(|(limit, key)| Item {
                limit,
                subject: Key::new(key.as_bytes()).unwrap().into(),
                cost,
            })
            .collect();
        let policy = Name::new("same").unwrap();
        let statuses = [LimitStatuses::default(), LimitStatuses::default()];
        let op = |statuses| {
            let mut op =
                Op::check(&policy, &items).with_act(act).with_id(Id::new(id.as_bytes()).unwrap());
            op.statuses = Some(statuses);
            op
        };
        let at = Time::from_micros(1_700_000_040_000_000 + micros).unwrap();
        let redis = self.runtime.block_on(apply_one(&self.redis, &op(&statuses[0]), Some(at)));
        let plain = self.plain.apply_one(&op(&statuses[1]), at);
        let (Ok(redis), Ok(plain)) = (&redis, &plain) else {
            assert!(
                redis.is_err() && plain.is_err(),
                "{limits:?}: {act} at {micros}: {redis:?} {plain:?}"
            );
            return;
        };
        let [redis_statuses, plain_statuses] = statuses.map(|statuses| statuses.to_vec());
        assert_eq!(
            (redis, redis_statuses),
            (plain, plain_statuses),
            "{limits:?}: {act} {id} {cost} at {micros}"
        );
    }

    fn apply_steps(&self, key: &str, steps: &[Step<'_>]) {
        for (line, second, act, id, cost) in steps {
            let limits = [line.parse::<Limit>().unwrap()];
            self.apply(&limits, &[key.to_owned()], (*act, id, *cost), second * 1_000_000);
        }
    }
}

/// What a reservation over several cluster nodes has taken is given back on each of them.
#[test]
fn settled_for_less_on_several_nodes() {
    let Some(cluster) = Cluster::start() else { return };
    let both = Both::new(RedisStore::builder(&cluster.url()));
    let lines = [
        "concurrency 9 ttl 1h",
        "sliding-log 9/h",
        "fixed-window 9/h",
        "ar1 max 9 decay 2 resolution 1s",
    ];
    let limits = lines.map(|line| line.parse::<Limit>().unwrap());
    for case in 0..20 {
        let keys = [0, 1, 0, 1].map(|subject| format!("{case} {subject}"));
        for (tick, step) in (0..).zip([
            (Act::Check, "b", 1),
            (Act::Reserve, "a", 5),
            (Act::Settle, "a", 2),
            (Act::Reserve, "b", 2),
            (Act::Check, "a", 1),
            (Act::Settle, "b", 0),
        ]) {
            both.apply(&limits, &keys, step, tick * 200_000);
        }
    }
}

/// What a conversion to another window or width no longer counts of a reservation can never be given back, also if
/// another one of the same time is settled with more.
#[test]
fn settled_after_a_conversion() {
    let Some(server) = Server::redis() else { return };
    let both = Both::new(RedisStore::builder(&server.url()));
    for [before, after] in [
        ["sliding-counters 90/h resolution 1m", "sliding-counters 90/h resolution 2m"],
        ["sliding-log 90/h", "sliding-log 90/2h"],
        ["sliding-window 90/2m", "sliding-window 90/1m"],
        ["fixed-window 90/2m", "fixed-window 90/1m"],
        ["request-window 90/2m", "request-window 90/3m"],
        ["ar1 max 90 decay 2 resolution 1m", "ar1 max 90 decay 3 resolution 2m"],
    ] {
        both.apply_steps(
            before,
            &[
                (before, 0, Act::Reserve, "a", 5),
                (before, 0, Act::Reserve, "b", 5),
                (before, 61, Act::Check, "c", 1),
                (after, 185, Act::Check, "d", 1),
                (after, 186, Act::Check, "e", 1),
                (after, 187, Act::Settle, "a", 9),
                (after, 188, Act::Settle, "b", 0),
                (after, 189, Act::Peek, "f", 1),
            ],
        );
    }
}

/// A slot that has ended counts again if the clock steps back, but what was reserved in it stays as charged.
#[test]
fn settled_after_a_clock_stepped_back() {
    let Some(server) = Server::redis() else { return };
    let both = Both::new(RedisStore::builder(&server.url()));
    let line = "sliding-counters 90/90s resolution 1m edge lenient";
    both.apply_steps(
        "key",
        &[
            (line, 0, Act::Reserve, "a", 5),
            (line, 0, Act::Reserve, "b", 5),
            (line, 70, Act::Reserve, "c", 5),
            (line, 100, Act::Check, "d", 1),
            (line, 80, Act::Settle, "a", 0),
            (line, 80, Act::Settle, "c", 0),
            (line, 80, Act::Settle, "b", 7),
            (line, 81, Act::Peek, "e", 1),
        ],
    );
}

/// Limits of each rule, and what they become.
const CHANGING: [[&str; 2]; 10] = [
    ["gcra 60/m burst 40", "gcra 90/m burst 50"],
    ["leaky-bucket size 40 drip 2 every 1s", "leaky-bucket size 50 drip 3 every 7s"],
    ["fixed-window 60/1m", "fixed-window 60/2m"],
    ["fixed-window 60/90s", "fixed-window 60/1h"],
    ["request-window 60/1m", "request-window 60/2m"],
    ["sliding-log 60/30s", "sliding-log 60/1m"],
    ["sliding-counters 60/90s resolution 1m edge lenient", "sliding-counters 60/1m resolution 7s"],
    ["sliding-window 60/30s", "sliding-window 60/1m"],
    ["ar1 max 60 decay 1.5 resolution 7s", "ar1 max 60 decay 1.1 resolution 1s"],
    ["concurrency 60 ttl 30s", "concurrency 60 ttl 1m"],
];

/// Many reservations, mostly of a few ids, under limits that change now and then, and by a clock that sometimes steps
/// back.
fn are_settled_alike(redis: RedisStoreBuilder) {
    let both = Both::new(redis);
    let setting = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seed = setting("TOLLGATE_SEED").unwrap_or(1);
    for (index, lines) in (0..).zip(CHANGING) {
        let mut rng = Rng::new(seed * 100 + index);
        let (mut now, mut version) = (1_000_000_000, 0);
        for step in 0..setting("TOLLGATE_REMOTE_OPERATIONS").unwrap_or(2_000) {
            if rng.below(20) == 0 {
                version = 1 - version;
            }
            let act = match rng.below(12) {
                0..4 => Act::Reserve,
                4..8 => Act::Settle,
                8 => Act::Refund,
                9 => Act::Charge,
                _ => Act::Check,
            };
            match rng.below(30) {
                0..8 => {}
                8..10 => now -= rng.below(20_000_000),
                10 => now += rng.below(100_000_000),
                _ => now += rng.below(3_000_000),
            }
            let id = match act {
                Act::Reserve | Act::Settle => format!("{}", rng.below(20)),
                _ => format!("once {step}"),
            };
            let limits = [lines[version].parse::<Limit>().unwrap()];
            // Another key now and then, so that no debt denies everything.
            let keys = [format!("{lines:?} {}", step / 100)];
            both.apply(&limits, &keys, (act, &id, rng.below(7)), now);
        }
    }
}

#[test]
fn settled_alike_under_changing_limits() {
    let Some(server) = Server::redis() else { return };
    are_settled_alike(RedisStore::builder(&server.url()));
}

#[test]
fn settled_alike_in_tiny_parts() {
    let Some(server) = Server::redis() else { return };
    are_settled_alike(RedisStore::builder(&server.url()).with_tiny_parts());
}
