//! What the store costs and leaves behind: one call for a check, no write by a read-only operation, and no
//! key without an expiry.
//!
//! A hundred thousand random operations in an ordinary run, a million with `TOLLGATE_LONG=1`.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod support;

use std::env;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use support::errors::with_causes;
use support::operations::{
    Operation, Rng, apply, apply_all, connect, policy, short_lived_policies,
};
use tokio::runtime::Runtime;
use tollgate_core::{Act, Decision, Policy};
use tollgate_fixtures::{Server, calls_during, wait_until};
use tollgate_redis::RedisStore;

/// How many units fit into each of the policies below.
const CAPACITY: u64 = 5;

/// One of each algorithm, and policies of several limits, for one subject and for several.
const POLICIES: [&[&str]; 15] = [
    &["gcra 5/min"],
    &["token-bucket 5/min"],
    &["leaky-bucket size 5 drip 1 every 1min"],
    &["fixed-window 5/3h"],
    &["fixed-window 5/year"],
    &["request-window 5/h"],
    &["sliding-log 5/h"],
    &["sliding-counters 5/h"],
    &["sliding-window 5/h"],
    &["ar1 max 5 decay 2 resolution 1min"],
    &["concurrency 5 ttl 1h"],
    &["fixed-window 5/3h count-denied"],
    &["gcra 5/min", "sliding-log 8/h"],
    &["gcra 9/min", "ar1 max 5 decay 2 resolution 1h", "concurrency 8 ttl 1h", "gcra 9/min"],
    &["gcra 5/min per ip", "sliding-window 8/h per user", "fixed-window 9/h per all"],
];

fn servers() -> impl Iterator<Item = Server> {
    [Server::redis(), Server::valkey()].into_iter().flatten()
}

/// Returns how many different subjects the limits count.
fn subjects(policy: &Policy) -> u64 {
    let mut kinds: Vec<_> = policy.limits().iter().map(|limit| limit.per()).collect();
    kinds.sort();
    kinds.dedup();
    kinds.len() as u64
}

#[test]
fn a_check_is_one_call() {
    const CHECKS: u64 = 40;
    for server in servers() {
        let runtime = Runtime::new().unwrap();
        let store = runtime.block_on(connect(&server.url(), "tg"));
        for lines in POLICIES {
            let policy = policy("calls", lines);
            let mut allowed = 0;
            let calls = calls_during(&server, || {
                for _ in 0..CHECKS {
                    let check = Operation::new(&policy, &format!("{lines:?}"), Act::Check, 1);
                    allowed += u64::from(runtime.block_on(apply(&store, check)).allowed);
                }
            });
            assert_eq!(allowed, CAPACITY, "{lines:?}");
            assert_eq!(calls.count("evalsha"), CHECKS, "{lines:?}");
            // A script that the server does not know yet is sent once.
            assert!(calls.count("eval") <= 1, "{lines:?}");
            assert_eq!(calls.failed("evalsha"), calls.count("eval"), "{lines:?}");
            let expected = ["evalsha", "eval", "time", "get", "set", "psetex"];
            assert_eq!(calls.others(&expected), [""; 0], "{lines:?}");
            assert_eq!(calls.count("time"), CHECKS, "{lines:?}");
            assert_eq!(calls.count("get"), CHECKS * subjects(&policy), "{lines:?}");
            // A denied check writes nothing, unless the limit counts denied attempts.
            let counted = if lines[0].contains("count-denied") { CHECKS } else { CAPACITY };
            let written = calls.count("set") + calls.count("psetex");
            assert_eq!(written, counted * subjects(&policy), "{lines:?}");
        }
    }
}

#[test]
fn a_batch_is_one_call_for_each_of_its_operations() {
    const CALLS: usize = 8;
    for server in servers() {
        let runtime = Runtime::new().unwrap();
        let store = runtime.block_on(connect(&server.url(), "tg"));
        for lines in POLICIES {
            let policy = policy("batch", lines);
            let keys = ["a", "b", "a", "c", "a"];
            let checks = keys.map(|key| Operation::new(&policy, key, Act::Check, 1));
            let calls = calls_during(&server, || {
                for _ in 0..CALLS {
                    let results = runtime.block_on(apply_all(&store, &checks));
                    assert!(results.iter().all(Result::is_ok), "{results:?}");
                }
            });
            let sent = calls.count("evalsha") + calls.count("eval");
            assert_eq!(sent - calls.failed("evalsha"), (CALLS * keys.len()) as u64, "{lines:?}");
            assert!(calls.failed("evalsha") <= keys.len() as u64, "{lines:?}");
        }
    }
}

#[test]
fn read_only_operations_write_nothing() {
    for server in servers() {
        let runtime = Runtime::new().unwrap();
        let store = runtime.block_on(connect(&server.url(), "tg"));
        for lines in POLICIES {
            let policy = policy("looks", lines);
            let apply = |operation| runtime.block_on(apply(&store, operation));
            let _ = apply(Operation::new(&policy, "some", Act::Check, 2));
            let _ = apply(Operation::new(&policy, "reserved", Act::Reserve, 2).with_id("id"));
            let _ = apply(Operation::new(&policy, "debt", Act::Charge, 2 * CAPACITY));
            let before = changes(&server);
            let calls = calls_during(&server, || {
                for key in ["none", "some", "reserved", "debt"] {
                    for cost in [0, 1, CAPACITY + 1] {
                        let _ = apply(Operation::new(&policy, key, Act::Peek, cost));
                        let _ = apply(Operation::new(&policy, key, Act::Peek, cost).with_id("id"));
                    }
                    let _ = apply(Operation::new(&policy, key, Act::Check, 0));
                    let _ = apply(Operation::new(&policy, key, Act::Charge, 0));
                    let _ = apply(Operation::new(&policy, key, Act::Refund, 0));
                }
            });
            let expected = ["evalsha", "eval", "time", "get", "hget"];
            assert_eq!(calls.others(&expected), [""; 0], "{lines:?}");
            assert_eq!(changes(&server), before, "{lines:?}");
        }
    }
}

/// Limits without a cost stay as they are, while others take or give; a subject without a cost is not
/// written.
#[test]
fn limits_without_a_cost_are_left_alone() {
    let lines = ["gcra 5/min per ip", "sliding-log 8/h per ip", "concurrency 9 ttl 1h per user"];
    for server in servers() {
        let runtime = Runtime::new().unwrap();
        let store = runtime.block_on(connect(&server.url(), "tg"));
        let policy = policy("partial", &lines);
        let apply = |act, costs: &[u64]| {
            let operation = Operation::new(&policy, "key", act, 0).with_costs(costs);
            runtime.block_on(apply(&store, operation))
        };
        for act in [Act::Check, Act::Charge] {
            server.cli(&["flushall"]);
            let calls = calls_during(&server, || assert!(apply(act, &[0, 2, 0]).allowed));
            assert_eq!(calls.count("psetex"), 1, "{act}");
            let bytes = server.cli(&["strlen", &server.cli(&["keys", "*"])]);
            assert_eq!(bytes, "38", "{act}: only the sliding-log has a state");
        }
        let _ = apply(Act::Charge, &[1]);
        let calls = calls_during(&server, || assert!(apply(Act::Refund, &[0, 0, 1]).allowed));
        assert_eq!((calls.count("psetex"), calls.count("del")), (0, 1));
    }
}

/// Returns how often the server's data has changed.
fn changes(server: &Server) -> String {
    let info = server.cli(&["info", "persistence"]);
    let line = info.lines().find(|line| line.starts_with("rdb_changes_since_last_save"));
    line.unwrap().to_owned()
}

/// The number of bytes of a key's states after its first check, so that growth is noticed. A flow alone is a decimal
/// number of so many digits, which Redis keeps in 16 bytes.
#[test]
fn states_are_small() {
    const BYTES: [usize; POLICIES.len()] =
        [18, 18, 27, 23, 23, 23, 38, 38, 30, 40, 45, 23, 61, 130, 71];
    for server in servers() {
        let runtime = Runtime::new().unwrap();
        let store = runtime.block_on(connect(&server.url(), "tg"));
        let sizes = POLICIES.map(|lines| {
            server.cli(&["flushall"]);
            let policy = policy("sizes", lines);
            let _ = runtime.block_on(apply(&store, Operation::new(&policy, "key", Act::Check, 1)));
            let keys = server.cli(&["keys", "*"]);
            let size = |key| server.cli(&["strlen", key]).parse::<usize>().unwrap();
            keys.lines().map(size).sum()
        });
        let named = |sizes: [usize; POLICIES.len()]| POLICIES.into_iter().zip(sizes);
        assert!(named(sizes).eq(named(BYTES)), "{:#?}", named(sizes).collect::<Vec<_>>());
    }
}

/// Returns the server's time, in microseconds since the epoch.
fn server_time(server: &Server) -> u64 {
    let time = server.cli(&["time"]);
    let (seconds, micros) = time.split_once('\n').unwrap();
    seconds.trim().parse::<u64>().unwrap() * 1_000_000 + micros.trim().parse::<u64>().unwrap()
}

/// Milliseconds that a state is kept past its reset.
const SLACK: u64 = 1_000;
/// Milliseconds that a reservation can be settled.
const RESERVATION_TTL: u64 = 3_600_000;

#[test]
fn a_state_is_kept_until_its_reset_and_a_second_more() {
    let Some(server) = Server::redis() else { return };
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(connect(&server.url(), "tg"));
    let steps = [
        (Act::Check, 1),
        (Act::Charge, 2),
        (Act::Refund, 1),
        (Act::Check, CAPACITY + 1),
        (Act::Check, 1),
        (Act::Check, 1),
        (Act::Charge, 9),
        (Act::Refund, 9),
        (Act::Refund, 99),
    ];
    for lines in POLICIES.into_iter().filter(|lines| !lines.concat().contains(" per ")) {
        let policy = policy("kept", lines);
        let apply = |act, cost| {
            let operation = Operation::new(&policy, "key", act, cost);
            let operation = if act.needs_id() { operation.with_id("id") } else { operation };
            runtime.block_on(apply(&store, operation))
        };
        server.cli(&["flushall"]);
        for (act, cost) in steps {
            let context = format!("{lines:?} after {act} {cost}");
            expect_expiry(&server, &context, 0, || apply(act, cost));
        }
        // A reservation of 0 does not shorten the expiry.
        server.cli(&["flushall"]);
        let _ = apply(Act::Check, CAPACITY);
        expect_expiry(&server, &format!("{lines:?}, reserved nothing"), RESERVATION_TTL, || {
            apply(Act::Reserve, 0)
        });
        // An open reservation is kept; once it is settled, it does not prolong the expiry.
        server.cli(&["flushall"]);
        expect_expiry(&server, &format!("{lines:?}, reserved"), RESERVATION_TTL, || {
            apply(Act::Reserve, 3)
        });
        expect_expiry(&server, &format!("{lines:?}, settled"), 0, || apply(Act::Settle, 2));
    }
}

/// Asserts when the only state expires: at its reset, or after at least so many milliseconds.
fn expect_expiry(server: &Server, context: &str, at_least: u64, work: impl FnOnce() -> Decision) {
    let before = server_time(server);
    let reset_after = work().reset_after.as_micros();
    let after = server_time(server);
    let keys = server.cli(&["keys", "*}"]);
    if reset_after == 0 && at_least == 0 {
        // As good as new, so that no state is kept.
        assert_eq!(keys, "", "{context}");
        return;
    }
    let end: u64 = server.cli(&["pexpiretime", &keys]).parse().unwrap();
    let earliest = (before + reset_after).max(before + at_least * 1000) / 1000;
    let latest = (after + reset_after).max(after + at_least * 1000) / 1000 + SLACK + 1;
    assert!(
        (earliest..=latest).contains(&end),
        "{context}: expires at {end}, not between {earliest} and {latest}",
    );
}

fn operations() -> u64 {
    if env::var("TOLLGATE_LONG").as_deref() == Ok("1") { 1_000_000 } else { 100_000 }
}

/// The times to live of all keys, by kind.
#[derive(Debug, Default)]
struct Ttls {
    states: Vec<i64>,
    ids: Vec<i64>,
    generations: Vec<i64>,
}

impl Ttls {
    /// Scans all keys on the server; each must have this prefix and an expiry.
    fn under(server: &Server, prefix: &str) -> Ttls {
        const SCRIPT: &str = "local out, cursor = {}, '0' repeat \
            local page = redis.call('SCAN', cursor, 'COUNT', 1000) cursor = page[1] \
            for _, key in ipairs(page[2]) do \
            out[#out + 1] = key .. ' ' .. redis.call('PTTL', key) end \
            until cursor == '0' return table.concat(out, '\\n')";
        let mut ttls = Ttls::default();
        for line in server.cli(&["eval", SCRIPT, "0"]).lines() {
            let (key, ttl) = line.split_once(' ').unwrap();
            let ttl: i64 = ttl.parse().unwrap();
            // It may have expired between the two commands.
            assert!(ttl >= 0 || ttl == -2, "{key} has no expiry");
            let rest = key.strip_prefix(prefix).and_then(|key| key.strip_prefix(":{"));
            let (_, kind) =
                rest.unwrap_or_else(|| panic!("unexpected key {key}")).split_once('}').unwrap();
            match kind.get(..2) {
                None => ttls.states.push(ttl),
                Some(":i") => ttls.ids.push(ttl),
                Some(":g") => ttls.generations.push(ttl),
                Some(other) => panic!("unexpected kind {other:?} of key {key}"),
            }
        }
        ttls
    }

    fn assert_within(&self, states: i64, ids: i64, generations: i64) {
        let within = |ttls: &[i64], max| ttls.iter().all(|ttl| *ttl <= max);
        assert!(within(&self.states, states), "a state is kept longer than {states} ms");
        assert!(within(&self.ids, ids), "an id is kept longer than {ids} ms");
        assert!(within(&self.generations, generations), "{:?}", self.generations);
    }
}

/// Applies so many random operations, from many tasks.
async fn apply_random(store: &RedisStore, policies: &[Policy], acts: &[Act], operations: u64) {
    const TASKS: u64 = 16;
    const BATCH: u64 = 25;
    const KEYS: u64 = 50;
    let done = AtomicU64::new(0);
    let task = async |seed| {
        let mut rng = Rng::new(seed);
        while done.fetch_add(BATCH, Ordering::Relaxed) < operations {
            let batch: Vec<_> = (0..BATCH).map(|_| rng.operation(policies, KEYS, acts)).collect();
            for (result, operation) in apply_all(store, &batch).await.iter().zip(&batch) {
                if let Err(error) = result {
                    panic!("{}: {operation:?}", with_causes(error));
                }
            }
        }
    };
    futures_util::future::join_all((0..TASKS).map(task)).await;
}

/// Operations on a reservation whose cost has long drained.
#[test]
fn a_reservation_can_be_settled_late() {
    let Some(server) = Server::redis() else { return };
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(connect(&server.url(), "tg"));
    let late = [
        (Act::Settle, 0),
        (Act::Settle, 2),
        (Act::Settle, 3),
        (Act::Settle, 5),
        (Act::Release, 0),
        (Act::Renew, 0),
        (Act::Refund, 1),
        (Act::Reserve, 1),
    ];
    let policies = short_lived_policies();
    let each = || policies.iter().flat_map(|policy| late.map(|(act, cost)| (policy, act, cost)));
    for (policy, act, cost) in each() {
        let reserve =
            Operation::new(policy, &format!("{act} {cost}"), Act::Reserve, 3).with_id("id");
        let _ = runtime.block_on(apply(&store, reserve));
    }
    std::thread::sleep(Duration::from_secs(4));
    let operations: Vec<Operation<'_>> = each()
        .map(|(policy, act, cost)| {
            Operation::new(policy, &format!("{act} {cost}"), act, cost).with_id("id")
        })
        .collect();
    let results = runtime.block_on(apply_all(&store, &operations));
    let failed = results.iter().zip(&operations).filter_map(|(result, operation)| {
        let limits = operation.policy.limits().iter();
        let lines: Vec<String> = limits.map(ToString::to_string).collect();
        let error = with_causes(result.as_ref().err()?);
        Some(format!("{lines:?}: {} {}: {error}", operation.act, operation.costs[0]))
    });
    let failed: Vec<String> = failed.collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn every_key_expires_after_many_operations() {
    let Some(server) = Server::redis() else { return };
    let runtime = Runtime::new().unwrap();
    let policies = short_lived_policies();
    let half = operations() / 2;

    // With reservations, which can be settled for an hour.
    let store = runtime.block_on(connect(&server.url(), "with.reservations"));
    runtime.block_on(apply_random(&store, &policies, &Act::ALL, half));
    let ttls = Ttls::under(&server, "with.reservations");
    assert!(!ttls.states.is_empty() && !ttls.ids.is_empty() && !ttls.generations.is_empty());
    ttls.assert_within(3_601_000, 61_000, 65_000);
    server.cli(&["flushall"]);

    // Without reservations states expire soon, and replies kept under ids after a minute.
    let acts: Vec<Act> = Act::ALL.into_iter().filter(|act| *act != Act::Reserve).collect();
    let store = runtime.block_on(connect(&server.url(), "brief"));
    runtime.block_on(apply_random(&store, &policies, &acts, half));
    let ttls = Ttls::under(&server, "brief");
    assert!(!ttls.states.is_empty() && !ttls.ids.is_empty() && !ttls.generations.is_empty());
    ttls.assert_within(30_000, 61_000, 65_000);
    wait_until("all states have expired", Duration::from_secs(60), || {
        Ttls::under(&server, "brief").states.is_empty()
    });
}
