//! Every operation on keys that have as many open reservations as there can be, and nearly as many slots or leases.

use std::cell::{Cell, RefCell};
use std::ops::Range;

use tokio::runtime::Runtime;
use tollgate_core::{Act, Policy};
use tollgate_redis::RedisStore;

use super::operations::{Operation, apply_all, policy};

/// As many reservations as can be open.
const RESERVATIONS: usize = 1_024;
/// Nearly as many slots or leases as there can be.
const ENTRIES: usize = 9_000;
/// How many reservations and entries there are below the bounds.
const BELOW: usize = 200;
/// What a plain check is called.
pub(crate) const PLAIN_CHECK: &str = "plain check";
/// How many checks come in one call.
pub(crate) const COALESCED: usize = 64;
/// How many calls are measured before other operations restore what they changed.
const CALLS_AT_A_TIME: usize = 100;

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

/// Measures calls.
pub(crate) trait Meter {
    /// Begins to measure.
    fn begin(&mut self);
    /// Returns a number for each call since.
    fn end(&mut self) -> Vec<u64>;
    /// Accepts the numbers of all calls of one kind.
    fn report(&mut self, policy: &Policy, what: &str, numbers: Vec<u64>);
}

/// One key under one policy.
struct Bench<'s> {
    runtime: &'s Runtime,
    store: &'s RedisStore,
    meter: RefCell<&'s mut dyn Meter>,
    calls: usize,
    policy: Policy,
    /// The next id that was not used yet.
    next: Cell<usize>,
}

impl<'s> Bench<'s> {
    fn operation(&self, act: Act, cost: u64, id: Option<usize>) -> Operation<'_> {
        let operation = Operation::new(&self.policy, "key", act, cost);
        id.map_or(operation.clone(), |id| operation.with_id(&format!("id {id}")))
    }

    /// Applies operations that come together.
    fn apply(&self, operations: &[Operation<'_>]) {
        let results = self.runtime.block_on(apply_all(self.store, operations));
        assert!(results.iter().all(Result::is_ok), "{:?}", results.first());
    }

    /// Returns ids that were not used before.
    fn new_ids(&self, count: usize) -> Range<usize> {
        let first = self.next.replace(self.next.get() + count);
        first..first + count
    }

    /// Takes so many times, each with an id of its own.
    fn fill(&self, act: Act, count: usize) {
        let ids: Vec<usize> = self.new_ids(count).collect();
        for ids in ids.chunks(100) {
            self.apply(&ids.iter().map(|id| self.operation(act, 1, Some(*id))).collect::<Vec<_>>());
        }
    }

    /// Measures operations that come together; after some calls, another operation for each call restores what it
    /// changed.
    fn measure<'b>(
        &'b self,
        what: &str,
        operations: impl Fn(usize) -> Vec<Operation<'b>>,
        restore: impl Fn(usize) -> Option<Operation<'b>>,
    ) {
        let mut numbers = Vec::new();
        let ids: Vec<usize> = self.new_ids(self.calls).collect();
        for ids in ids.chunks(CALLS_AT_A_TIME) {
            self.meter.borrow_mut().begin();
            ids.iter().for_each(|id| self.apply(&operations(*id)));
            numbers.extend(self.meter.borrow_mut().end());
            ids.iter().filter_map(|id| restore(*id)).for_each(|operation| self.apply(&[operation]));
        }
        self.meter.borrow_mut().report(&self.policy, what, numbers);
    }

    /// Measures the operations of any rule.
    fn measure_all(&self) {
        let act = |act, cost| move |_: usize| vec![self.operation(act, cost, None)];
        let nothing = |_: usize| None;
        let refund = |cost| move |_: usize| Some(self.operation(Act::Refund, cost, None));
        let with_id = |act, cost| move |id: usize| vec![self.operation(act, cost, Some(id))];
        self.measure("peek", act(Act::Peek, 1), nothing);
        self.measure("denied", act(Act::Check, 4_000_000), nothing);
        self.measure("check", act(Act::Check, 1), refund(1));
        self.measure("charge", act(Act::Charge, 1), refund(1));
        self.measure("check id", with_id(Act::Check, 1), refund(1));
        let charge = |_: usize| Some(self.operation(Act::Charge, 1, None));
        self.measure("refund", act(Act::Refund, 1), charge);
        if !self.gives_leases() {
            let checks = |id: usize| (0..COALESCED).map(move |check| id * COALESCED + check);
            let checks =
                |id| checks(id).map(|id| self.operation(Act::Check, 1, Some(id))).collect();
            self.measure("coalesced", checks, refund(COALESCED as u64));
        }
    }

    fn gives_leases(&self) -> bool {
        self.policy.limits()[0].to_string().starts_with("concurrency")
    }

    /// Measures reserving, and settling for less, as much and more, with so many open.
    fn measure_reservations(&self, open: usize) {
        self.fill(Act::Reserve, open);
        let older =
            |act, cost| move |id: usize| vec![self.operation(act, cost, Some(id - open / 2))];
        let reserve = |id: usize| Some(self.operation(Act::Reserve, 1, Some(id)));
        let new = |id: usize| vec![self.operation(Act::Reserve, 1, Some(id))];
        self.measure("reserve", new, |_| None);
        for (what, actual) in [("settle less", 0), ("settle", 1), ("settle more", 2)] {
            self.fill(Act::Reserve, open);
            self.measure(what, older(Act::Settle, actual), reserve);
        }
    }

    /// Measures what concerns one of so many leases.
    fn measure_leases(&self, leases: usize) {
        let oldest = |act: Act| move |id: usize| vec![self.operation(act, 1, Some(id % leases))];
        self.measure("renew", oldest(Act::Renew), |_| None);
        self.measure("release", oldest(Act::Release), |id| {
            Some(self.operation(Act::Check, 1, Some(id % leases)))
        });
    }
}

/// What is measured: how many calls of each kind, and what a limit must begin with.
pub(crate) struct Choice {
    pub(crate) runtime: Runtime,
    pub(crate) calls: usize,
    pub(crate) begin: String,
}

impl Choice {
    /// Returns those of some limits that are measured.
    fn chosen<'l>(&self, lines: &[&'l str]) -> Vec<&'l str> {
        lines.iter().copied().filter(|line| line.starts_with(&self.begin)).collect()
    }

    /// Calls a function for each limit, alone and four times.
    fn each(
        &self,
        lines: &[&str],
        store: &RedisStore,
        meter: &mut dyn Meter,
        measure: impl Fn(&Bench<'_>),
    ) {
        for line in lines {
            for limits in [&[*line][..], &[*line; 4]] {
                let name = limits.join("-").replace([' ', '/', '.'], "-");
                let policy = policy(name.get(..60).unwrap_or(&name), limits);
                let (meter, next) = (RefCell::new(&mut *meter), Cell::new(0));
                measure(&Bench {
                    runtime: &self.runtime,
                    store,
                    meter,
                    calls: self.calls,
                    policy,
                    next,
                });
            }
        }
    }

    /// Measures all operations on a key with as many open reservations as there can be.
    pub(crate) fn with_open_reservations(&self, store: &RedisStore, meter: &mut dyn Meter) {
        self.each(&self.chosen(&ROOMY), store, meter, |bench| {
            bench.fill(Act::Reserve, RESERVATIONS);
            bench.measure_all();
            bench.measure_reservations(RESERVATIONS);
        });
    }

    /// Measures all operations on a key with nearly as many slots or leases as there can be, and then also with open
    /// reservations.
    pub(crate) fn with_crowded_entries(&self, store: &RedisStore, meter: &mut dyn Meter) {
        self.each(&self.chosen(&CROWDED), store, meter, |bench| {
            bench.fill(Act::Charge, ENTRIES);
            bench.measure_all();
            if bench.gives_leases() {
                bench.measure_leases(ENTRIES);
            }
            bench.fill(Act::Reserve, RESERVATIONS / 2);
            bench.measure_reservations(RESERVATIONS);
        });
    }

    /// Measures checks of a key with nothing else, by one limit and by four.
    pub(crate) fn plain_check(&self, store: &RedisStore, meter: &mut dyn Meter) {
        self.each(&ROOMY[..1], store, meter, |bench| {
            bench.measure(PLAIN_CHECK, |_| vec![bench.operation(Act::Check, 1, None)], |_| None);
            bench.apply(&[bench.operation(Act::Reset, 0, None)]);
        });
    }

    /// Measures all operations on a key with fewer reservations, slots and leases.
    pub(crate) fn below_the_bounds(&self, store: &RedisStore, meter: &mut dyn Meter) {
        self.each(&self.chosen(&ROOMY), store, meter, |bench| {
            bench.fill(Act::Charge, BELOW);
            if bench.gives_leases() {
                bench.measure_leases(BELOW);
            }
            bench.fill(Act::Reserve, BELOW);
            bench.measure_all();
            bench.measure_reservations(BELOW);
        });
    }
}
