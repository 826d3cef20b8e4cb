//! Tollgate.

mod clocks;
mod limits;
mod requests;

use std::hint::black_box;
use std::time::Duration;

use tollgate::Limiter;

use crate::in_process::limit::Pace;
use crate::in_process::system::System;

struct Ours(Limiter);

/// Number of keys in a batch.
const BATCH: usize = 16;

/// Time between two checks of a log of 100 per millisecond that is always full and allows each of them.
const STEP: Duration = Duration::from_micros(10);

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
    "tollgate two gcra",
];

/// The main system with an id for every check.
pub(crate) const IDS: &[&str] = &["tollgate ids"];

/// The main system with a cached clock: a manual clock that a thread sets regularly.
pub(crate) const CACHED: &[&str] = &["tollgate cached clock"];

pub(crate) fn build(name: &str, pace: Pace) -> anyhow::Result<Option<Box<dyn System>>> {
    let Some(lines) = limits::lines(name, pace) else { return Ok(None) };
    Ok(Some(match name {
        "tollgate ids" => Box::new(requests::Ids(Limiter::parse(lines)?)),
        "tollgate three subjects" => Box::new(requests::Subjects(Limiter::parse(lines)?)),
        "tollgate check and release" => Box::new(requests::Leases(Limiter::parse(lines)?)),
        "tollgate cached clock" => Box::new(Ours(clocks::cached(lines)?)),
        "tollgate sliding-log stepped" => Box::new(clocks::Stepped::new(lines, STEP)?),
        "tollgate sliding-log stopped" => Box::new(clocks::Stepped::new(lines, Duration::ZERO)?),
        _ => Box::new(Ours(Limiter::parse(lines)?)),
    }))
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
