//! Every store decides alike: the same operations at the same instants, in memory and in Redis.
//!
//! `TOLLGATE_REMOTE_OPERATIONS` sets the number of random operations for each algorithm, and `TOLLGATE_SEED`
//! the seed.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod support;

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use support::errors::with_causes;
use support::limits::with_count_denied;
use tokio::runtime::Runtime;
use tollgate_core::contract::{ALGORITHMS, Step, limit_line, steps};
use tollgate_core::{
    Decision, Id, Item, Key, Limit, LimitStatus, LimitStatuses, Name, Op, PlainStore, Span,
    StoreError, Time,
};
use tollgate_fixtures::{Cluster, Server};
use tollgate_redis::{RedisStore, RedisStoreBuilder};

/// Number of random operations for each algorithm in an ordinary run.
const OPERATIONS: u32 = 5_000;
/// Average number of operations of a random case.
const PER_CASE: u32 = 12;
/// Maximum number of operations of a random case.
const MAX_STEPS: usize = 25;

/// The response timeout. Long, so that a busy machine does not fail the test.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

fn setting(name: &str, default: u32) -> u32 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Operations under two versions of one to three limits, so that limits change between operations.
#[derive(Debug, Clone)]
struct Case {
    versions: [Vec<String>; 2],
    /// Index of the subject, of two, that each limit counts.
    subjects: [usize; 3],
    start: u64,
    /// Each operation, and the costs of its limits that differ from that of the operation.
    steps: Vec<(Step, [Option<u64>; 3])>,
}

/// Generates the costs of limits that differ: mostly none.
fn own_costs() -> impl Strategy<Value = [Option<u64>; 3]> {
    let cost = prop_oneof![2 => Just(None), 2 => Just(Some(0)), 1 => (1_u64..20).prop_map(Some)];
    prop_oneof![2 => Just([None; 3]), 1 => proptest::array::uniform3(cost)]
}

fn cases(algorithm: &'static str) -> impl Strategy<Value = Case> {
    let first = (limit_line(algorithm), limit_line(algorithm));
    let other = proptest::sample::select(&ALGORITHMS[..]).prop_flat_map(|algorithm| {
        let counts_denied = proptest::bool::weighted(0.25);
        (limit_line(algorithm), counts_denied).prop_map(with_count_denied)
    });
    // Sometimes the first limit is there twice: each position has a state of its own.
    let others = (proptest::collection::vec(other, 0..3), proptest::bool::weighted(0.1));
    let start = prop_oneof![
        2 => 0_u64..1_000_000,
        4 => 1_700_000_000_000_000_u64..1_800_000_000_000_000,
        1 => (1_u64 << 52) - 1_000_000_000..(1 << 52) - 1,
    ];
    let subjects = prop_oneof![Just([0, 0, 0]), proptest::array::uniform3(0_usize..2)];
    let parts = (first, others.clone(), others, subjects, start);
    parts.prop_flat_map(|((a, b), with_a, with_b, subjects, start)| {
        let lines = |first: String, (others, twice): (Vec<String>, bool)| match twice {
            true => vec![first.clone(), first],
            false => [vec![first], others].concat(),
        };
        let versions = [lines(a, with_a), lines(b, with_b)];
        let first: Limit = versions[0][0].parse().unwrap();
        let costs = proptest::collection::vec(own_costs(), MAX_STEPS);
        (steps(first.capacity().unwrap_or(1), 2), costs).prop_map(move |(steps, costs)| Case {
            versions: versions.clone(),
            subjects,
            start,
            steps: steps.into_iter().zip(costs).collect(),
        })
    })
}

fn time_of(step: &Step, limits: &[Limit], now: u64) -> u64 {
    let drain = limits.iter().filter_map(Limit::full_reset_after).max().map_or(0, Span::as_micros);
    let by = i128::from(drain) * i128::from(step.moves.0) / 1000 + i128::from(step.moves.1);
    let at = u64::try_from((i128::from(now) + by).max(0)).unwrap();
    at.min(Time::MAX.as_micros())
}

/// Returns a result as text, so that errors can be compared, with the status of each limit.
fn to_text(result: Result<Decision, StoreError>, statuses: &LimitStatuses) -> String {
    let statuses: Vec<LimitStatus> = statuses.to_vec();
    match result {
        Ok(decision) => format!("{decision:?} {statuses:?}"),
        Err(error) => format!("{} {statuses:?}", with_causes(&error)),
    }
}

/// Applies an operation, and returns the result and the status of each limit as text.
fn reported(op: Op<'_>, apply: impl FnOnce(&Op<'_>) -> Result<Decision, StoreError>) -> String {
    let statuses = LimitStatuses::default();
    // A binding of its own: it lives no longer than the statuses.
    let mut op = op;
    op.statuses = Some(&statuses);
    to_text(apply(&op), &statuses)
}

/// Compares the two stores.
fn compare(url: &str, algorithm: &'static str) {
    compare_with(RedisStore::builder(url), algorithm);
}

fn compare_with(redis: RedisStoreBuilder, algorithm: &'static str) {
    let runtime = Runtime::new().unwrap();
    let redis = redis.response_timeout(RESPONSE_TIMEOUT);
    let redis = runtime.block_on(redis.connect()).unwrap();
    let memory = PlainStore::default();
    let policy = Name::new("same").unwrap();
    let next = std::cell::Cell::new(0_u64);
    let test = |case: Case| {
        next.set(next.get() + 1);
        let keys = ["a", "b"].map(|name| format!("{algorithm}{}{name}", next.get()));
        let mut now = case.start;
        let versions = case.versions.map(|lines| -> Vec<Limit> {
            lines.iter().map(|line| line.parse().unwrap()).collect()
        });
        for (index, (step, own_costs)) in case.steps.iter().enumerate() {
            let limits = &versions[step.variant];
            now = time_of(step, limits, now);
            let subject = |which: usize| Key::new(keys[which].as_bytes()).unwrap().into();
            let items = limits.iter().zip(case.subjects).zip(own_costs);
            let item = |((limit, which), cost): ((_, usize), &Option<u64>)| Item {
                limit,
                subject: subject(which),
                cost: cost.unwrap_or(step.cost),
            };
            let items: Vec<Item<'_>> = items.map(item).collect();
            let op = Op::check(&policy, &items).with_act(step.act);
            let op = step.id.map_or(op, |id| op.with_id(Id::new(id.as_bytes()).unwrap()));
            let at = Time::from_micros(now).unwrap();
            let result = reported(op, |op| runtime.block_on(redis.apply_one(op, Some(at))));
            let expected = reported(op, |op| memory.apply_one(op, at));
            prop_assert_eq!(result, expected, "step {} at {}", index + 1, now);
        }
        Ok(())
    };
    let config = Config {
        cases: (setting("TOLLGATE_REMOTE_OPERATIONS", OPERATIONS) / PER_CASE).max(1),
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(u64::from(setting("TOLLGATE_SEED", 1))),
        max_shrink_iters: 2_000,
        ..Config::default()
    };
    if let Err(failure) = TestRunner::new(config).run(&cases(algorithm), test) {
        panic!("{algorithm}: {failure}");
    }
}

macro_rules! same_answers {
    ($($name:ident: $algorithm:literal),* $(,)?) => {
        mod redis {
            $(#[test]
            fn $name() {
                if let Some(server) = super::Server::redis() {
                    super::compare(&server.url(), $algorithm);
                }
            })*
        }

        /// A few entries have many parts.
        mod tiny_parts {
            $(#[test]
            fn $name() {
                if let Some(server) = super::Server::redis() {
                    let redis = super::RedisStore::builder(&server.url()).with_tiny_parts();
                    super::compare_with(redis, $algorithm);
                }
            })*
        }

        mod valkey {
            $(#[test]
            fn $name() {
                if let Some(server) = super::Server::valkey() {
                    super::compare(&server.url(), $algorithm);
                }
            })*
        }

        #[test]
        fn cluster() {
            if let Some(cluster) = Cluster::start() {
                for algorithm in [$($algorithm),*] {
                    compare(&cluster.url(), algorithm);
                }
            }
        }
    };
}

same_answers! {
    gcra: "gcra",
    token_bucket: "token-bucket",
    leaky_bucket: "leaky-bucket",
    fixed_window: "fixed-window",
    request_window: "request-window",
    sliding_log: "sliding-log",
    sliding_counters: "sliding-counters",
    sliding_window: "sliding-window",
    ar1: "ar1",
    concurrency: "concurrency",
}
