//! Many callers at once, by the store's own clock: every unit is counted, once.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod asking;
mod quiet;

use asking::{Dice, Wish, ask, ask_all, brief, connect, in_words, policy};
use futures_util::future::{join, join_all};
use quiet::wait_for_a_quiet_week;
use tokio::runtime::Runtime;
use tollgate_core::{Act, Decision, Limit, Policy};
use tollgate_fixtures::{Cluster, Server};
use tollgate_redis::RedisStore;

/// Limits that give nothing back while a test runs.
const STILL: [&str; 10] = [
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
/// Operations of each task.
const TURNS: u64 = 60;
/// What fits, and what is asked for afterwards: what is used shows also if it is more than fits.
const FITS: u64 = 2_000;
const LOOKS: u64 = 3_600;

fn still(line: &str, n: u64) -> Policy {
    let line = line.replacen('N', &n.to_string(), 1);
    policy("still", &[&line, "fixed-window 1000000/7day"])
}

/// One caller, who keeps accounts.
struct Caller<'a> {
    store: &'a RedisStore,
    policy: &'a Policy,
    name: u64,
    dice: Dice,
    turn: u64,
    /// What the key must hold because of this caller.
    used: u64,
}

impl<'a> Caller<'a> {
    fn wish(&self, act: Act, cost: u64) -> Wish<'a> {
        Wish::new(self.policy, "key", act, cost)
    }

    /// An id that nobody has used.
    fn id(&mut self) -> String {
        self.turn += 1;
        format!("{}/{}", self.name, self.turn)
    }

    async fn turn(&mut self) {
        let cost = 1 + self.dice.below(4);
        match self.dice.below(6) {
            0 | 1 => self.check(cost).await,
            2 => self.check_twice(cost).await,
            3 => self.reserve(cost).await,
            4 => self.charge(cost).await,
            _ => self.lease(cost).await,
        }
    }

    async fn check(&mut self, cost: u64) {
        let allowed = ask(self.store, self.wish(Act::Check, cost)).await.allowed;
        self.used += if allowed { cost } else { 0 };
    }

    /// A retry that overtakes the first try, or does not: with an id that is the same.
    async fn check_twice(&mut self, cost: u64) {
        let id = self.id();
        let check = || ask(self.store, self.wish(Act::Check, cost).with_id(&id));
        let (one, other) = join(check(), check()).await;
        self.used += if one.allowed || other.allowed { cost } else { 0 };
    }

    async fn reserve(&mut self, cost: u64) {
        let (id, actual) = (self.id(), self.dice.below(6));
        if ask(self.store, self.wish(Act::Reserve, cost).with_id(&id)).await.allowed {
            ask(self.store, self.wish(Act::Settle, actual).with_id(&id)).await;
            self.used += actual;
        }
    }

    async fn charge(&mut self, cost: u64) {
        ask(self.store, self.wish(Act::Charge, cost)).await;
        self.used += cost;
    }

    /// Takes something and gives it back: as a lease where there are any.
    async fn lease(&mut self, cost: u64) {
        let id = self.id();
        let took = ask(self.store, self.wish(Act::Check, cost).with_id(&id)).await.allowed;
        let given = ask(self.store, self.wish(Act::Release, 0).with_id(&id)).await;
        assert!(given.allowed);
        let is_lease = self.policy.limits()[0].to_string().starts_with("concurrency");
        self.used += if took && !is_lease { cost } else { 0 };
    }
}

fn accounts_balance(url: &str) {
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(connect(url, "tg"));
    for line in STILL {
        wait_for_a_quiet_week();
        let (policy, wider) = (still(line, FITS), still(line, LOOKS));
        let caller = |name| Caller {
            store: &store,
            policy: &policy,
            name,
            dice: Dice::new(name),
            turn: 0,
            used: 0,
        };
        let used: u64 = runtime.block_on(async {
            // So much that no reservation is ever what a key holds least of.
            ask(&store, Wish::new(&policy, "key", Act::Charge, 200)).await;
            let tasks = (0..TASKS).map(caller).map(async |mut caller| {
                for _ in 0..TURNS {
                    caller.turn().await;
                }
                caller.used
            });
            join_all(tasks).await.iter().sum()
        });
        let peek = runtime.block_on(ask(&store, Wish::new(&wider, "key", Act::Peek, 1)));
        assert_eq!(LOOKS - peek.remaining.unwrap(), 200 + used, "{line}");
        runtime.block_on(ask(&store, Wish::new(&policy, "key", Act::Reset, 0)));
    }
}

#[test]
fn accounts_balance_on_one_server() {
    if let Some(server) = Server::redis() {
        accounts_balance(&server.url());
    }
}

#[test]
fn accounts_balance_on_a_cluster() {
    if let Some(cluster) = Cluster::start() {
        accounts_balance(&cluster.url());
    }
}

/// Whatever is done to a key, the answer makes sense.
fn makes_sense(wish: &Wish<'_>, decision: &Decision) -> bool {
    let within = match (decision.remaining, decision.limit) {
        (Some(remaining), Some(limit)) => remaining <= limit,
        _ => false,
    };
    let waits = decision.retry_after.is_some_and(|wait| wait.as_micros() > 0);
    let fresh = decision.reset_after.as_micros() == 0;
    within
        && (decision.allowed || wish.act.can_be_denied())
        && (!fresh || decision.remaining == decision.limit)
        && (!waits || !fresh)
}

fn anything_goes(url: &str) {
    const BATCHES: u64 = 40;
    const KEYS: u64 = 3;
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(connect(url, "tg"));
    let policies = brief();
    let task = async |seed| {
        let mut dice = Dice::new(seed);
        for _ in 0..BATCHES {
            let size = 1 + dice.below(8);
            let wishes: Vec<_> = (0..size).map(|_| dice.wish(&policies, KEYS, &Act::ALL)).collect();
            for (answer, wish) in ask_all(&store, &wishes).await.iter().zip(&wishes) {
                match answer {
                    Ok(decision) => assert!(makes_sense(wish, decision), "{wish:?}: {decision:?}"),
                    Err(error) => panic!("{}: {wish:?}", in_words(error)),
                }
            }
        }
    };
    runtime.block_on(join_all((0..TASKS).map(task)));
    for policy in &policies {
        let most = policy.limits().iter().filter_map(Limit::capacity).min();
        for key in (0..KEYS).map(|key| format!("key {key}")) {
            runtime.block_on(ask(&store, Wish::new(policy, &key, Act::Reset, 0)));
            let peek = runtime.block_on(ask(&store, Wish::new(policy, &key, Act::Peek, 1)));
            assert!(peek.allowed && peek.remaining == most, "{policy:?}: {peek:?}");
            assert_eq!(peek.reset_after.as_micros(), 0, "{policy:?}: {peek:?}");
        }
    }
}

#[test]
fn anything_goes_on_one_server() {
    if let Some(server) = Server::redis() {
        anything_goes(&server.url());
    }
}

#[test]
fn anything_goes_on_a_cluster() {
    if let Some(cluster) = Cluster::start() {
        anything_goes(&cluster.url());
    }
}
