//! Many concurrent callers, by the store's own clock: every unit is counted exactly once.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod support;

use futures_util::future::{join, join_all};
use support::calendar::wait_for_a_quiet_week;
use support::errors::with_causes;
use support::operations::{
    Operation, Rng, apply, apply_all, connect, policy, short_lived_policies,
};
use tokio::runtime::Runtime;
use tollgate_core::{Act, Decision, Limit, Policy};
use tollgate_fixtures::{Cluster, Server};
use tollgate_redis::RedisStore;

/// Limits that refill nothing while a test runs.
const NOT_REFILLING: [&str; 10] = [
    "gcra 1/7day burst N",
    "token-bucket 1/7day burst N",
    "leaky-bucket size N drip 1 every 7day",
    "fixed-window N/7day",
    "request-window N/7day",
    "sliding-log N/7day",
    "sliding-counters N/7day",
    "sliding-window N/7day",
    "ar1 max N decay 2 resolution 7day",
    "concurrency N ttl 1h",
];

const TASKS: u64 = 32;
/// Number of steps of each task.
const STEPS: u64 = 60;
/// Capacity during the test.
const CAPACITY: u64 = 2_000;
/// Capacity of the peek afterwards, so that usage beyond the first capacity shows.
const PEEK_CAPACITY: u64 = 3_600;

fn not_refilling(line: &str, n: u64) -> Policy {
    let line = line.replacen('N', &n.to_string(), 1);
    policy("still", &[&line, SECOND])
}

/// The second limit, which has costs of its own.
const SECOND: &str = "fixed-window 1000000/7day";

/// One caller, which keeps count of what it has used.
struct Caller<'a> {
    store: &'a RedisStore,
    policy: &'a Policy,
    number: u64,
    rng: Rng,
    /// Number of ids used so far.
    ids: u64,
    /// What each limit of the key must count because of this caller.
    used: [u64; 2],
}

impl<'a> Caller<'a> {
    fn operation(&self, act: Act, costs: [u64; 2]) -> Operation<'a> {
        Operation::new(self.policy, "key", act, 0).with_costs(&costs)
    }

    /// Returns an id that was not used before.
    fn next_id(&mut self) -> String {
        self.ids += 1;
        format!("{}/{}", self.number, self.ids)
    }

    fn add(&mut self, costs: [u64; 2]) {
        self.used = [self.used[0] + costs[0], self.used[1] + costs[1]];
    }

    async fn step(&mut self) {
        let costs = [1 + self.rng.below(4), self.rng.below(3)];
        match self.rng.below(6) {
            0 | 1 => self.check(costs).await,
            2 => self.check_twice(costs).await,
            3 => self.reserve(costs).await,
            4 => self.charge(costs).await,
            _ => self.lease(costs).await,
        }
    }

    async fn check(&mut self, costs: [u64; 2]) {
        if apply(self.store, self.operation(Act::Check, costs)).await.allowed {
            self.add(costs);
        }
    }

    /// A check and its retry at the same time: with an id they count once.
    async fn check_twice(&mut self, costs: [u64; 2]) {
        let id = self.next_id();
        let check = || apply(self.store, self.operation(Act::Check, costs).with_id(&id));
        let (one, other) = join(check(), check()).await;
        if one.allowed || other.allowed {
            self.add(costs);
        }
    }

    async fn reserve(&mut self, costs: [u64; 2]) {
        let (id, actual) = (self.next_id(), [self.rng.below(6), self.rng.below(6)]);
        if apply(self.store, self.operation(Act::Reserve, costs).with_id(&id)).await.allowed {
            let settled = apply(self.store, self.operation(Act::Settle, actual).with_id(&id)).await;
            assert!(settled.allowed, "{settled:?}");
            self.add(actual);
        }
    }

    async fn charge(&mut self, costs: [u64; 2]) {
        let _ = apply(self.store, self.operation(Act::Charge, costs)).await;
        self.add(costs);
    }

    /// Takes something and releases it; that gives it back only where it is a lease.
    async fn lease(&mut self, costs: [u64; 2]) {
        let id = self.next_id();
        let allowed =
            apply(self.store, self.operation(Act::Check, costs).with_id(&id)).await.allowed;
        let released = apply(self.store, self.operation(Act::Release, [0; 2]).with_id(&id)).await;
        let is_lease = self.policy.limits()[0].gives_leases();
        assert_eq!(released.allowed, allowed || !is_lease, "{released:?}");
        if allowed {
            self.add([if is_lease { 0 } else { costs[0] }, costs[1]]);
        }
    }
}

fn usage_is_exact(url: &str) {
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(connect(url, "tg"));
    for line in NOT_REFILLING {
        wait_for_a_quiet_week();
        let (policy, wider) = (not_refilling(line, CAPACITY), not_refilling(line, PEEK_CAPACITY));
        let caller = |number| Caller {
            store: &store,
            policy: &policy,
            number,
            rng: Rng::new(number),
            ids: 0,
            used: [0; 2],
        };
        let used: Vec<[u64; 2]> = runtime.block_on(async {
            // So much that settling a reservation can always give back all of it.
            let _ = apply(&store, Operation::new(&policy, "key", Act::Charge, 200)).await;
            let tasks = (0..TASKS).map(caller).map(async |mut caller| {
                for _ in 0..STEPS {
                    caller.step().await;
                }
                caller.used
            });
            join_all(tasks).await
        });
        let used = |limit: usize| 200 + used.iter().map(|used| used[limit]).sum::<u64>();
        let left = |policy| {
            let peek = Operation::new(policy, "key", Act::Peek, 1);
            runtime.block_on(apply(&store, peek)).remaining.unwrap()
        };
        assert_eq!(PEEK_CAPACITY - left(&wider), used(0), "{line}");
        let second = support::operations::policy("still", &["unlimited", SECOND]);
        assert_eq!(1_000_000 - left(&second), used(1), "{line}");
        let _ = runtime.block_on(apply(&store, Operation::new(&policy, "key", Act::Reset, 0)));
    }
}

#[test]
fn usage_is_exact_on_one_server() {
    if let Some(server) = Server::redis() {
        usage_is_exact(&server.url());
    }
}

#[test]
fn usage_is_exact_on_a_cluster() {
    if let Some(cluster) = Cluster::start() {
        usage_is_exact(&cluster.url());
    }
}

/// Whether a decision is consistent in itself, whatever was done to the key.
fn is_consistent(operation: &Operation<'_>, decision: &Decision) -> bool {
    let within = match (decision.remaining, decision.limit) {
        (Some(remaining), Some(limit)) => remaining <= limit,
        _ => false,
    };
    let waits = decision.retry_after.is_some_and(|wait| wait.as_micros() > 0);
    let fresh = decision.reset_after.as_micros() == 0;
    within
        && (decision.allowed || operation.act.can_be_denied() || decision.not_found)
        && decision.not_found == (operation.act.is_follow_up() && !decision.allowed)
        && (!fresh || decision.remaining == decision.limit)
        && (!waits || !fresh)
}

fn random_operations(url: &str) {
    const BATCHES: u64 = 40;
    const KEYS: u64 = 3;
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(connect(url, "tg"));
    let policies = short_lived_policies();
    let task = async |seed| {
        let mut rng = Rng::new(seed);
        for _ in 0..BATCHES {
            let size = 1 + rng.below(8);
            let operations = (0..size).map(|_| rng.operation(&policies, KEYS, &Act::ALL));
            let operations: Vec<_> = operations.collect();
            let results = apply_all(&store, &operations).await;
            for (result, operation) in results.iter().zip(&operations) {
                match result {
                    Ok(decision) => {
                        assert!(is_consistent(operation, decision), "{operation:?}: {decision:?}");
                    }
                    Err(error) => panic!("{}: {operation:?}", with_causes(error)),
                }
            }
        }
    };
    runtime.block_on(join_all((0..TASKS).map(task)));
    for policy in &policies {
        let capacity = policy.limits().iter().filter_map(Limit::capacity).min();
        for key in (0..KEYS).map(|key| format!("key {key}")) {
            let _ = runtime.block_on(apply(&store, Operation::new(policy, &key, Act::Reset, 0)));
            let peek = runtime.block_on(apply(&store, Operation::new(policy, &key, Act::Peek, 1)));
            assert!(peek.allowed && peek.remaining == capacity, "{policy:?}: {peek:?}");
            assert_eq!(peek.reset_after.as_micros(), 0, "{policy:?}: {peek:?}");
        }
    }
}

#[test]
fn random_operations_on_one_server() {
    if let Some(server) = Server::redis() {
        random_operations(&server.url());
    }
}

#[test]
fn random_operations_on_a_cluster() {
    if let Some(cluster) = Cluster::start() {
        random_operations(&cluster.url());
    }
}
