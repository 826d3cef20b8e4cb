//! What the store costs and leaves behind: one call for a check, nothing written by a look, and no key
//! that stays.
//!
//! A hundred thousand random operations in an ordinary run, a million with `TOLLGATE_LONG=1`.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod asking;

use std::collections::BTreeMap;
use std::env;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use asking::{Dice, Wish, ask, ask_all, brief, connect, in_words, policy};
use tokio::runtime::Runtime;
use tollgate_core::{Act, Decision, Policy};
use tollgate_fixtures::{Server, wait_until};
use tollgate_redis::RedisStore;

/// How many fit into each of the limits below.
const FIT: u64 = 5;

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

/// What a server has done, command by command: how often, and how often in vain.
struct Calls(BTreeMap<String, (u64, u64)>);

impl Calls {
    fn of(server: &Server) -> Calls {
        let stats = server.cli(&["info", "commandstats"]);
        let line = |line: &str| {
            let (name, numbers) = line.trim().strip_prefix("cmdstat_")?.split_once(':')?;
            let number = |wanted: &str| {
                let mut pairs = numbers.split(',').filter_map(|pair| pair.split_once('='));
                let found = pairs.find(|(name, _)| *name == wanted);
                found.map_or(0, |(_, value)| value.parse().unwrap())
            };
            Some((name.to_owned(), (number("calls"), number("failed_calls"))))
        };
        Calls(stats.lines().filter_map(line).collect())
    }

    fn count(&self, name: &str) -> u64 {
        self.0.get(name).map_or(0, |(calls, _)| *calls)
    }

    fn failed(&self, name: &str) -> u64 {
        self.0.get(name).map_or(0, |(_, failed)| *failed)
    }

    /// Those that are none of ours.
    fn others<'c>(&'c self, ours: &'c [&str]) -> Vec<&'c str> {
        let administration = ["info", "config|resetstat"];
        let known = |name: &&str| ours.contains(name) || administration.contains(name);
        self.0.keys().map(String::as_str).filter(|name| !known(name)).collect()
    }
}

fn calls_during(server: &Server, work: impl FnOnce()) -> Calls {
    server.cli(&["config", "resetstat"]);
    work();
    Calls::of(server)
}

/// How many different subjects the limits count.
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
                    let check = Wish::new(&policy, &format!("{lines:?}"), Act::Check, 1);
                    allowed += u64::from(runtime.block_on(ask(&store, check)).allowed);
                }
            });
            assert_eq!(allowed, FIT, "{lines:?}");
            assert_eq!(calls.count("evalsha"), CHECKS, "{lines:?}");
            // A script that the server does not know yet is sent once in full.
            assert!(calls.count("eval") <= 1, "{lines:?}");
            assert_eq!(calls.failed("evalsha"), calls.count("eval"), "{lines:?}");
            let ours = ["evalsha", "eval", "time", "get", "set", "psetex"];
            assert_eq!(calls.others(&ours), [""; 0], "{lines:?}");
            assert_eq!(calls.count("time"), CHECKS, "{lines:?}");
            assert_eq!(calls.count("get"), CHECKS * subjects(&policy), "{lines:?}");
            // What is denied is not written, unless it counts.
            let counted = if lines[0].contains("count-denied") { CHECKS } else { FIT };
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
            let wishes = keys.map(|key| Wish::new(&policy, key, Act::Check, 1));
            let calls = calls_during(&server, || {
                for _ in 0..CALLS {
                    let answers = runtime.block_on(ask_all(&store, &wishes));
                    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
                }
            });
            let sent = calls.count("evalsha") + calls.count("eval");
            assert_eq!(sent - calls.failed("evalsha"), (CALLS * keys.len()) as u64, "{lines:?}");
            assert!(calls.failed("evalsha") <= keys.len() as u64, "{lines:?}");
        }
    }
}

#[test]
fn what_only_looks_writes_nothing() {
    for server in servers() {
        let runtime = Runtime::new().unwrap();
        let store = runtime.block_on(connect(&server.url(), "tg"));
        for lines in POLICIES {
            let policy = policy("looks", lines);
            let ask = |wish| runtime.block_on(ask(&store, wish));
            ask(Wish::new(&policy, "some", Act::Check, 2));
            ask(Wish::new(&policy, "noted", Act::Reserve, 2).with_id("id"));
            ask(Wish::new(&policy, "debt", Act::Charge, 2 * FIT));
            let before = changes(&server);
            let calls = calls_during(&server, || {
                for key in ["none", "some", "noted", "debt"] {
                    for cost in [0, 1, FIT + 1] {
                        ask(Wish::new(&policy, key, Act::Peek, cost));
                        ask(Wish::new(&policy, key, Act::Peek, cost).with_id("id"));
                    }
                    ask(Wish::new(&policy, key, Act::Check, 0));
                    ask(Wish::new(&policy, key, Act::Charge, 0));
                    ask(Wish::new(&policy, key, Act::Refund, 0));
                }
            });
            let ours = ["evalsha", "eval", "time", "get"];
            assert_eq!(calls.others(&ours), [""; 0], "{lines:?}");
            assert_eq!(changes(&server), before, "{lines:?}");
        }
    }
}

/// How often the server's data has changed.
fn changes(server: &Server) -> String {
    let info = server.cli(&["info", "persistence"]);
    let line = info.lines().find(|line| line.starts_with("rdb_changes_since_last_save"));
    line.unwrap().to_owned()
}

/// How many bytes a key's states take after its first check, so that growth is noticed.
#[test]
fn states_are_small() {
    const BYTES: [usize; POLICIES.len()] =
        [24, 24, 27, 23, 23, 23, 36, 36, 30, 40, 44, 23, 59, 129, 77];
    for server in servers() {
        let runtime = Runtime::new().unwrap();
        let store = runtime.block_on(connect(&server.url(), "tg"));
        let sizes = POLICIES.map(|lines| {
            server.cli(&["flushall"]);
            let policy = policy("sizes", lines);
            runtime.block_on(ask(&store, Wish::new(&policy, "key", Act::Check, 1)));
            let keys = server.cli(&["keys", "*"]);
            let size = |key| server.cli(&["strlen", key]).parse::<usize>().unwrap();
            keys.lines().map(size).sum()
        });
        let named = |sizes: [usize; POLICIES.len()]| POLICIES.into_iter().zip(sizes);
        assert!(named(sizes).eq(named(BYTES)), "{:#?}", named(sizes).collect::<Vec<_>>());
    }
}

/// Microseconds since the epoch, by the server's clock.
fn server_time(server: &Server) -> u64 {
    let answer = server.cli(&["time"]);
    let (seconds, micros) = answer.split_once('\n').unwrap();
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
        (Act::Check, FIT + 1),
        (Act::Check, 1),
        (Act::Charge, 9),
        (Act::Refund, 9),
        (Act::Refund, 99),
    ];
    for lines in POLICIES.into_iter().filter(|lines| !lines.concat().contains(" per ")) {
        let policy = policy("kept", lines);
        let ask = |act, cost| {
            let wish = Wish::new(&policy, "key", act, cost);
            let wish = if act.needs_id() { wish.with_id("id") } else { wish };
            runtime.block_on(ask(&store, wish))
        };
        server.cli(&["flushall"]);
        for (act, cost) in steps {
            let place = format!("{lines:?} after {act} {cost}");
            expect_end(&server, &place, 0, || ask(act, cost));
        }
        // A reservation of nothing shortens nothing.
        server.cli(&["flushall"]);
        ask(Act::Check, FIT);
        expect_end(&server, &format!("{lines:?}, reserved nothing"), RESERVATION_TTL, || {
            ask(Act::Reserve, 0)
        });
        // An open reservation is kept; once it is settled, it keeps nothing.
        server.cli(&["flushall"]);
        expect_end(&server, &format!("{lines:?}, reserved"), RESERVATION_TTL, || {
            ask(Act::Reserve, 3)
        });
        expect_end(&server, &format!("{lines:?}, settled"), 0, || ask(Act::Settle, 2));
    }
}

/// Checks when the one state ends: at its reset, or after at least so many milliseconds.
fn expect_end(server: &Server, place: &str, at_least: u64, work: impl FnOnce() -> Decision) {
    let before = server_time(server);
    let reset_after = work().reset_after.as_micros();
    let after = server_time(server);
    let keys = server.cli(&["keys", "*}"]);
    if reset_after == 0 && at_least == 0 {
        // As good as new; nothing is kept of it.
        assert_eq!(keys, "", "{place}");
        return;
    }
    let end: u64 = server.cli(&["pexpiretime", &keys]).parse().unwrap();
    let earliest = (before + reset_after).max(before + at_least * 1000) / 1000;
    let latest = (after + reset_after).max(after + at_least * 1000) / 1000 + SLACK + 1;
    assert!(
        (earliest..=latest).contains(&end),
        "{place}: ends at {end}, not between {earliest} and {latest}",
    );
}

fn operations() -> u64 {
    if env::var("TOLLGATE_LONG").as_deref() == Ok("1") { 1_000_000 } else { 100_000 }
}

/// How many there are of each kind of key, and how long the last of them lives.
#[derive(Debug, Default)]
struct Found {
    states: Vec<i64>,
    ids: Vec<i64>,
    generations: Vec<i64>,
}

impl Found {
    /// Looks at every key on the server; each must be ours, and have an end.
    fn under(server: &Server, prefix: &str) -> Found {
        const SCRIPT: &str = "local out, cursor = {}, '0' repeat \
            local page = redis.call('SCAN', cursor, 'COUNT', 1000) cursor = page[1] \
            for _, key in ipairs(page[2]) do \
            out[#out + 1] = key .. ' ' .. redis.call('PTTL', key) end \
            until cursor == '0' return table.concat(out, '\\n')";
        let mut found = Found::default();
        for line in server.cli(&["eval", SCRIPT, "0"]).lines() {
            let (key, ttl) = line.split_once(' ').unwrap();
            let ttl: i64 = ttl.parse().unwrap();
            // It may have ended between the two looks.
            assert!(ttl >= 0 || ttl == -2, "{key} has no end");
            let rest = key.strip_prefix(prefix).and_then(|key| key.strip_prefix(":{"));
            let (_, kind) =
                rest.unwrap_or_else(|| panic!("{key} is not ours")).split_once('}').unwrap();
            match kind.get(..2) {
                None => found.states.push(ttl),
                Some(":i") => found.ids.push(ttl),
                Some(":g") => found.generations.push(ttl),
                Some(other) => panic!("{key}: what is {other}?"),
            }
        }
        found
    }

    fn expect_ends_within(&self, states: i64, ids: i64, generations: i64) {
        let within = |ttls: &[i64], most| ttls.iter().all(|ttl| *ttl <= most);
        assert!(within(&self.states, states), "a state lasts longer than {states} ms");
        assert!(within(&self.ids, ids), "an id lasts longer than {ids} ms");
        assert!(within(&self.generations, generations), "{:?}", self.generations);
    }
}

/// Has many tasks do random acts, so many together.
async fn many(store: &RedisStore, policies: &[Policy], acts: &[Act], operations: u64) {
    const TASKS: u64 = 16;
    const BATCH: u64 = 25;
    const KEYS: u64 = 50;
    let done = AtomicU64::new(0);
    let task = async |seed| {
        let mut dice = Dice::new(seed);
        while done.fetch_add(BATCH, Ordering::Relaxed) < operations {
            let wishes: Vec<_> = (0..BATCH).map(|_| dice.wish(policies, KEYS, acts)).collect();
            for (answer, wish) in ask_all(store, &wishes).await.iter().zip(&wishes) {
                if let Err(error) = answer {
                    panic!("{}: {wish:?}", in_words(error));
                }
            }
        }
    };
    futures_util::future::join_all((0..TASKS).map(task)).await;
}

/// Acts on a reservation whose cost has long drained.
#[test]
fn a_reservation_can_be_closed_late() {
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
    let policies = brief();
    let each = || policies.iter().flat_map(|policy| late.map(|(act, cost)| (policy, act, cost)));
    for (policy, act, cost) in each() {
        let reserve = Wish::new(policy, &format!("{act} {cost}"), Act::Reserve, 3).with_id("id");
        runtime.block_on(ask(&store, reserve));
    }
    std::thread::sleep(Duration::from_secs(4));
    let wishes: Vec<Wish<'_>> = each()
        .map(|(policy, act, cost)| {
            Wish::new(policy, &format!("{act} {cost}"), act, cost).with_id("id")
        })
        .collect();
    let answers = runtime.block_on(ask_all(&store, &wishes));
    let failed = answers.iter().zip(&wishes).filter_map(|(answer, wish)| {
        let lines: Vec<String> = wish.policy.limits().iter().map(ToString::to_string).collect();
        let error = in_words(answer.as_ref().err()?);
        Some(format!("{lines:?}: {} {}: {error}", wish.act, wish.cost))
    });
    let failed: Vec<String> = failed.collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn no_key_stays_after_many_operations() {
    let Some(server) = Server::redis() else { return };
    let runtime = Runtime::new().unwrap();
    let policies = brief();
    let half = operations() / 2;

    // With reservations, which can be settled for an hour.
    let store = runtime.block_on(connect(&server.url(), "held.by.tests"));
    runtime.block_on(many(&store, &policies, &Act::ALL, half));
    let found = Found::under(&server, "held.by.tests");
    assert!(!found.states.is_empty() && !found.ids.is_empty() && !found.generations.is_empty());
    found.expect_ends_within(3_601_000, 61_000, 65_000);
    server.cli(&["flushall"]);

    // Without: what is kept of a key ends soon, what is known of ids after a minute.
    let acts: Vec<Act> = Act::ALL.into_iter().filter(|act| *act != Act::Reserve).collect();
    let store = runtime.block_on(connect(&server.url(), "brief"));
    runtime.block_on(many(&store, &policies, &acts, half));
    let found = Found::under(&server, "brief");
    assert!(!found.states.is_empty() && !found.ids.is_empty() && !found.generations.is_empty());
    found.expect_ends_within(30_000, 61_000, 65_000);
    wait_until("no state is kept", Duration::from_secs(60), || {
        Found::under(&server, "brief").states.is_empty()
    });
}
