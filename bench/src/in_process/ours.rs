//! Tollgate.

use std::hint::black_box;
use std::sync::{Arc, Weak};
use std::thread;

use tollgate::{Clock, Limiter, MemoryStore};

use crate::in_process::limit::Pace;
use crate::in_process::system::{CLOCK_INTERVAL, System};

struct Ours(Limiter);

/// Number of keys in a batch.
const BATCH: usize = 16;

/// The system to compare with the peers: `gcra`.
pub(crate) const MAIN: &[&str] = &["tollgate"];

/// The other algorithms, and two limits in one policy.
pub(crate) const OTHERS: &[&str] = &[
    "tollgate token-bucket",
    "tollgate leaky-bucket",
    "tollgate fixed-window",
    "tollgate request-window",
    "tollgate sliding-window",
    "tollgate ar1",
    "tollgate sliding-counters",
    "tollgate sliding-log",
    "tollgate concurrency",
    "tollgate two limits",
];

/// The main system with an id for every check.
pub(crate) const IDS: &[&str] = &["tollgate ids"];

/// The main system with a cached clock: a manual clock that a thread sets regularly.
pub(crate) const CACHED: &[&str] = &["tollgate cached clock"];

pub(crate) fn build(name: &str, pace: Pace) -> anyhow::Result<Option<Box<dyn System>>> {
    let lines = match pace {
        Pace::Fast => fast(name),
        Pace::Slow => slow(name),
    };
    let Some(lines) = lines else { return Ok(None) };
    if IDS.contains(&name) {
        return Ok(Some(Box::new(Ids(Limiter::parse(lines)?))));
    }
    let limiter = match CACHED.contains(&name) {
        true => cached()?.limiter("cached", lines)?,
        false => Limiter::parse(lines)?,
    };
    Ok(Some(Box::new(Ours(limiter))))
}

fn cached() -> anyhow::Result<Arc<MemoryStore>> {
    let clock = Clock::manual();
    clock.set(Clock::system().now());
    let store = MemoryStore::builder().clock(clock).build()?;
    let weak = Arc::downgrade(&store);
    thread::spawn(move || update_clock(&weak));
    Ok(store)
}

/// Sets the clock of a store until the store is dropped.
fn update_clock(store: &Weak<MemoryStore>) {
    let system = Clock::system();
    while let Some(store) = store.upgrade() {
        store.clock().set(system.now());
        drop(store);
        thread::sleep(CLOCK_INTERVAL);
    }
}

/// A million per second, or as near as the algorithm gets with a small state.
fn fast(name: &str) -> Option<&'static [&'static str]> {
    Some(match name {
        "tollgate" | "tollgate cached clock" => &["gcra 1000000/s burst 100"],
        "tollgate ids" => &["gcra 1000000000/s burst 1000000000"],
        "tollgate token-bucket" => &["token-bucket 1000000/s burst 100"],
        "tollgate leaky-bucket" => &["leaky-bucket size 100 drip 1 every 1us"],
        "tollgate fixed-window" => &["fixed-window 1000000/s"],
        "tollgate request-window" => &["request-window 1000000/s"],
        "tollgate sliding-window" => &["sliding-window 1000000/s"],
        "tollgate ar1" => &["ar1 max 1000 decay 2 resolution 1ms"],
        "tollgate sliding-counters" => &["sliding-counters 1000/ms resolution 100us"],
        "tollgate sliding-log" => &["sliding-log 100/ms"],
        "tollgate concurrency" => &["concurrency 100 ttl 1ms"],
        "tollgate two limits" => &["gcra 1000000/s burst 100", "fixed-window 1000000000/h"],
        _ => return None,
    })
}

/// So slow that no key expires before the end of the bench.
fn slow(name: &str) -> Option<&'static [&'static str]> {
    Some(match name {
        "tollgate" | "tollgate cached clock" => &["gcra 1/min burst 100"],
        "tollgate ids" => &["gcra 1000/min burst 1000000000"],
        "tollgate token-bucket" => &["token-bucket 1/min burst 100"],
        "tollgate leaky-bucket" => &["leaky-bucket size 100 drip 1 every 1min"],
        "tollgate fixed-window" => &["fixed-window 100/week"],
        "tollgate request-window" => &["request-window 100/day"],
        "tollgate sliding-window" => &["sliding-window 100/day"],
        "tollgate ar1" => &["ar1 max 1000 decay 2 resolution 1h"],
        "tollgate sliding-counters" => &["sliding-counters 100/h resolution 6min"],
        "tollgate sliding-log" => &["sliding-log 100/day"],
        "tollgate concurrency" => &["concurrency 100 ttl 1h"],
        "tollgate two limits" => &["gcra 1/min burst 100", "fixed-window 1000000000/week"],
        _ => return None,
    })
}

impl System for Ours {
    fn check(&self, key: &String) -> bool {
        self.0.check(key).expect("a check does not fail").allowed
    }

    fn check_batches(&self, keys: &[String]) -> u64 {
        let mut out = Vec::with_capacity(BATCH);
        let mut allowed = 0;
        for batch in keys.chunks(BATCH) {
            self.0.check_many(black_box(batch), &mut out);
            for decision in &out {
                let decision = black_box(decision).as_ref().expect("a check does not fail");
                allowed += u64::from(decision.allowed);
            }
        }
        allowed
    }
}

/// Checks one key under ids.
struct Ids(Limiter);

impl System for Ids {
    /// Takes the key as the id.
    fn check(&self, id: &String) -> bool {
        let decision = self.0.key("user:000000000000042").id(id).check();
        let decision = decision.expect("a check does not fail");
        decision.allowed && !decision.not_remembered
    }
}
