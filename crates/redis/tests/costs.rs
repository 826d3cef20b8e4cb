//! What every operation costs the server at the bounds: microseconds of `EVALSHA` per call, over 1,000 calls, and of
//! the slowest one.
//!
//! `cargo test -p tollgate-redis --test costs -- --ignored --nocapture` prints a table. `TOLLGATE_CALLS` sets the
//! number of calls, and `TOLLGATE_LINES` what a limit must begin with.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use std::cell::{Cell, RefCell};
use std::ops::Range;

use support::operations::{Operation, apply_all, connect, policy};
use support::workers::print_line;
use tokio::runtime::Runtime;
use tollgate_core::{Act, Policy};
use tollgate_fixtures::Server;
use tollgate_redis::RedisStore;

/// As many reservations as can be open.
const RESERVATIONS: usize = 1_024;
/// Nearly as many entries as there can be.
const ENTRIES: usize = 9_000;

/// A limit of each rule with room for everything that is reserved.
const ROOMY: [&str; 9] = [
    "gcra 3600000/h burst 100000",
    "leaky-bucket size 100000 drip 7 every 10ms",
    "fixed-window 1000000/h",
    "request-window 1000000/h",
    "sliding-log 10000/h",
    "sliding-counters 1000000/h resolution 1m",
    "sliding-window 1000000/h",
    "ar1 max 100000 decay 1.1 resolution 1s",
    "concurrency 10000 ttl 1h",
];
/// Limits of rules with entries.
const CROWDED: [&str; 2] = ["sliding-log 10000/h", "concurrency 10000 ttl 1h"];

fn calls() -> usize {
    std::env::var("TOLLGATE_CALLS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000)
}

/// Those of the limits that are to be measured.
fn chosen(lines: &[&'static str]) -> Vec<&'static str> {
    let begin = std::env::var("TOLLGATE_LINES").unwrap_or_default();
    lines.iter().copied().filter(|line| line.starts_with(&begin)).collect()
}

/// One key under one policy.
struct Bench<'s> {
    runtime: &'s Runtime,
    store: &'s RedisStore,
    /// A connection that reads what the server has measured.
    stats: RefCell<redis::Connection>,
    policy: Policy,
    /// The next id that was not used yet.
    next: Cell<usize>,
}

impl<'s> Bench<'s> {
    fn new(server: &Server, runtime: &'s Runtime, store: &'s RedisStore, lines: &[&str]) -> Self {
        let stats = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
        let name = lines.join("-").replace([' ', '/', '.'], "-");
        let policy = policy(name.get(..60).unwrap_or(&name), lines);
        Bench { runtime, store, stats: RefCell::new(stats), policy, next: Cell::new(0) }
    }

    fn operation(&self, act: Act, cost: u64, id: Option<usize>) -> Operation<'_> {
        let operation = Operation::new(&self.policy, "key", act, cost);
        id.map_or(operation.clone(), |id| operation.with_id(&format!("id {id}")))
    }

    fn apply(&self, operations: &[Operation<'_>]) {
        for chunk in operations.chunks(100) {
            let results = self.runtime.block_on(apply_all(self.store, chunk));
            assert!(results.iter().all(Result::is_ok), "{results:?}");
        }
    }

    /// Returns ids that were not used before.
    fn new_ids(&self, count: usize) -> Range<usize> {
        let first = self.next.replace(self.next.get() + count);
        first..first + count
    }

    /// Takes so many times, each with an id of its own.
    fn fill(&self, act: Act, count: usize) {
        let ids = self.new_ids(count);
        self.apply(&ids.map(|id| self.operation(act, 1, Some(id))).collect::<Vec<_>>());
    }

    /// Returns the microseconds that the server has spent in scripts.
    fn micros(&self) -> u64 {
        let mut info = redis::cmd("INFO");
        let stats: String = info.arg("commandstats").query(&mut *self.stats.borrow_mut()).unwrap();
        let line = stats.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:"));
        let usec = line.and_then(|line| line.split("usec=").nth(1)?.split(',').next());
        usec.map_or(0, |usec| usec.parse().unwrap())
    }

    /// Measures an operation; after each call, another operation restores what it changed.
    fn measure<'b>(
        &'b self,
        what: &str,
        operation: impl Fn(usize) -> Operation<'b>,
        restore: impl Fn(usize) -> Option<Operation<'b>>,
    ) {
        let (mut sum, mut slowest) = (0, 0);
        for id in self.new_ids(calls()) {
            let operation = operation(id);
            let before = self.micros();
            self.apply(std::slice::from_ref(&operation));
            let micros = self.micros() - before;
            sum += micros;
            slowest = slowest.max(micros);
            if let Some(restore) = restore(id) {
                self.apply(&[restore]);
            }
        }
        let mean = sum / calls() as u64;
        let limits = self.policy.limits();
        let limit = limits.first().unwrap().to_string();
        print_line(&format!("{limit:45} x{} {what:12} {mean:6} {slowest:6}", limits.len()));
    }

    /// Measures the operations of any rule.
    fn measure_all(&self) {
        let act = |act, cost| move |_: usize| self.operation(act, cost, None);
        let nothing = |_: usize| None;
        let refund = |_: usize| Some(self.operation(Act::Refund, 1, None));
        let with_id = |act, cost| move |id: usize| self.operation(act, cost, Some(id));
        self.measure("peek", act(Act::Peek, 1), nothing);
        self.measure("denied", act(Act::Check, 4_000_000), nothing);
        self.measure("check", act(Act::Check, 1), refund);
        self.measure("charge", act(Act::Charge, 1), refund);
        self.measure("check id", with_id(Act::Check, 1), refund);
        self.measure("refund", act(Act::Refund, 1), |_| Some(self.operation(Act::Charge, 1, None)));
    }

    /// Measures reserving, and settling for less, as much and more, with as many open as can be.
    fn measure_reservations(&self) {
        self.fill(Act::Reserve, RESERVATIONS);
        let with_id = |act, cost| move |id: usize| self.operation(act, cost, Some(id));
        let older =
            |act, cost| move |id: usize| self.operation(act, cost, Some(id - RESERVATIONS / 2));
        let reserve = |id: usize| Some(self.operation(Act::Reserve, 1, Some(id)));
        self.measure("reserve", with_id(Act::Reserve, 1), |_| None);
        for (what, actual) in [("settle less", 0), ("settle", 1), ("settle more", 2)] {
            self.fill(Act::Reserve, RESERVATIONS);
            self.measure(what, older(Act::Settle, actual), reserve);
        }
    }

    fn measure_leases(&self) {
        let full = ENTRIES;
        let oldest = |act: Act| move |id: usize| self.operation(act, 1, Some(id % full));
        self.measure("renew", oldest(Act::Renew), |_| None);
        self.measure("release", oldest(Act::Release), |id| {
            Some(self.operation(Act::Check, 1, Some(id % full)))
        });
    }
}

#[test]
#[ignore = "measures"]
fn with_open_reservations() {
    let Some(server) = Server::redis() else { return };
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(connect(&server.url(), "tg"));
    for line in chosen(&ROOMY) {
        for limits in [&[line][..], &[line; 4]] {
            let bench = Bench::new(&server, &runtime, &store, limits);
            bench.fill(Act::Reserve, RESERVATIONS);
            bench.measure_all();
            bench.measure_reservations();
        }
    }
}

#[test]
#[ignore = "measures"]
fn with_crowded_entries() {
    let Some(server) = Server::redis() else { return };
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(connect(&server.url(), "tg"));
    for line in chosen(&CROWDED) {
        for limits in [&[line][..], &[line; 4]] {
            let bench = Bench::new(&server, &runtime, &store, limits);
            bench.fill(Act::Charge, ENTRIES);
            bench.measure_all();
            if line.starts_with("concurrency") {
                bench.measure_leases();
            }
            bench.fill(Act::Reserve, RESERVATIONS / 2);
            bench.measure_reservations();
        }
    }
}
