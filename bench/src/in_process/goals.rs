//! The goals. All are ratios from one run, so that the machine matters less.

use crate::goals::{Bound, Goal};
use crate::in_process::systems::MAIN;

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
        Goal { bench: "hot-1t", system: MAIN, bound: Bound::AtMost(0.55) },
        Goal { bench: "uniform-1t", system: MAIN, bound: Bound::AtMost(0.45) },
        Goal { bench: "batch16", system: MAIN, bound: Bound::AtMost(0.15) },
        Goal { bench: "hot-2t", system: MAIN, bound: Bound::AtMost(0.60) },
        Goal { bench: "bytes-per-key-5m", system: MAIN, bound: Bound::AtMost(0.50) },
    ];
    for bench in ["hot-1t", "uniform-1t"] {
        goals.extend(FIXED_SIZE.map(|system| Goal { bench, system, bound: Bound::AtMost(2.0) }));
    }
    goals
}
