//! The goals. All are ratios from one run, so that the machine matters less.

use crate::goals::{Bound, Goal};
use crate::in_process::systems::MAIN;

/// Our main system with ids.
const IDS: &str = "tollgate ids";

/// A policy of two limits.
const TWO_GCRA: &str = "tollgate two gcra";

const SLIDING_COUNTERS: &str = "tollgate sliding-counters";

const BYTES_1M: &str = "bytes-per-key-1m";

/// Our other algorithms with a state of fixed size.
const FIXED_SIZE: [&str; 6] = [
    "tollgate token-bucket",
    "tollgate leaky-bucket",
    "tollgate fixed-window",
    "tollgate request-window",
    "tollgate sliding-window",
    "tollgate ar1",
];

pub(crate) fn all() -> Vec<Goal> {
    let mut goals = vec![
        Goal::ratio("hot-1t", MAIN, Bound::AtMost(0.55)),
        Goal::ratio("uniform-1t", MAIN, Bound::AtMost(0.45)),
        Goal::ratio("batch16", MAIN, Bound::AtMost(0.15)),
        Goal::ratio("hot-2t", MAIN, Bound::AtMost(0.45)),
        Goal::ratio("bytes-per-key-5m", MAIN, Bound::AtMost(0.40)),
        Goal::ratio("uniform-1t", TWO_GCRA, Bound::AtMost(1.8)),
        Goal::ratio("uniform-denied", TWO_GCRA, Bound::AtMost(1.8)),
        Goal::ratio("check-release", "tollgate check and release", Bound::AtMost(10.0)),
        Goal::ratio("hot-allowed", "tollgate sliding-log stepped", Bound::AtMost(4.0)),
        Goal::ratio("hot-denied", "tollgate sliding-log stopped", Bound::AtMost(4.0)),
        Goal::ratio("fresh-id", IDS, Bound::AtMost(8.0)),
        Goal::ratio(BYTES_1M, SLIDING_COUNTERS, Bound::AtMost(130.0)).value("bytes"),
        Goal::ratio(BYTES_1M, "tollgate concurrency", Bound::AtMost(160.0)).value("bytes"),
        Goal::ratio("bytes-per-id-1m", IDS, Bound::AtMost(100.0)).value("bytes"),
    ];
    for bench in ["hot-1t", "uniform-1t"] {
        goals.extend(FIXED_SIZE.map(|system| Goal::ratio(bench, system, Bound::AtMost(2.0))));
    }
    for bench in ["hot-allowed", "hot-denied"] {
        goals.push(Goal::ratio(bench, TWO_GCRA, Bound::AtMost(0.8)));
        goals.push(Goal::ratio(bench, "tollgate three subjects", Bound::AtMost(1.0)));
        goals.push(Goal::ratio(bench, SLIDING_COUNTERS, Bound::AtMost(3.0)));
    }
    goals
}
