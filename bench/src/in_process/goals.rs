//! The goals. All are ratios from one run, so that the machine matters less.

use crate::goals::{Bound, Goal};
use crate::in_process::systems::MAIN;

/// Our main system with ids.
const IDS: &str = "tollgate ids";

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
        Goal::ratio("fresh-id", IDS, Bound::AtMost(8.0)),
        Goal::ratio("bytes-per-id-1m", IDS, Bound::AtMost(100.0)).value("bytes"),
    ];
    for bench in ["hot-1t", "uniform-1t"] {
        goals.extend(FIXED_SIZE.map(|system| Goal::ratio(bench, system, Bound::AtMost(2.0))));
    }
    goals
}
