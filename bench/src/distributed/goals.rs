//! The goals. Speeds are ratios from one run, so that the machine matters less; calls and admissions are
//! absolute, and admissions hold in every round.

use crate::distributed::figure::{CALLS_PER_CHECK, CHECKS, CHECKS_PER_SECOND, MICROS};
use crate::distributed::system::{FLEXIBLE, NO_LAYERS, PREFETCH, STRICT, TRYPEMA, WRITE_BEHIND};
use crate::goals::Bound::{self, AtLeast, AtMost};
use crate::goals::Goal;

pub(crate) fn all() -> Vec<Goal> {
    let mut goals = vec![
        ratio("hot-key/strict", STRICT, FLEXIBLE, 10.0),
        calls("hot-key/strict", STRICT, 0.05),
        ratio("hot-key/write-behind", WRITE_BEHIND, TRYPEMA, 1.0),
        calls("hot-key/write-behind", WRITE_BEHIND, 0.001),
        ratio("hot-key/prefetch", PREFETCH, TRYPEMA, 1.0),
        calls("hot-key/prefetch", PREFETCH, 0.001),
        ratio("zipf/strict", STRICT, NO_LAYERS, 0.9),
        ratio("distinct/strict", STRICT, NO_LAYERS, 0.9),
        ratio("denied/strict", STRICT, FLEXIBLE, 5.0),
        ratio("denied/strict", STRICT, TRYPEMA, 1.0),
        calls("denied/strict", STRICT, 0.001),
        calls("denied/write-behind", WRITE_BEHIND, 0.001),
        calls("denied/prefetch", PREFETCH, 0.001),
    ];
    for (bench, system, min, max) in [
        ("admitted/strict", STRICT, 1000.0, 1000.0),
        ("admitted/write-behind", WRITE_BEHIND, 1000.0, 1050.0),
        ("admitted/prefetch", PREFETCH, 1000.0, 1000.0),
        ("admitted-4/strict", STRICT, 1000.0, 1000.0),
        ("admitted-4/write-behind", WRITE_BEHIND, 1000.0, 1150.0),
        ("admitted-4/prefetch", PREFETCH, 1000.0, 1000.0),
    ] {
        goals.push(always(bench, system, AtLeast(min), CHECKS));
        goals.push(always(bench, system, AtMost(max), CHECKS));
    }
    for (bench, most, system, max) in [
        ("paced/strict", "paced/strict/max", STRICT, 1000.0),
        ("paced/write-behind", "paced/write-behind/max", WRITE_BEHIND, 1050.0),
        ("paced/prefetch", "paced/prefetch/max", PREFETCH, 1100.0),
    ] {
        goals.push(always(bench, system, AtLeast(950.0), CHECKS_PER_SECOND));
        goals.push(always(most, system, AtMost(max), CHECKS));
    }
    // The timeout and 5 ms.
    let answered = |bench, system| Goal::ratio(bench, system, AtMost(25_000.0)).value(MICROS);
    goals.extend([
        answered("slow-store/strict/p99.9", STRICT),
        answered("slow-store/write-behind/p99.9", WRITE_BEHIND),
        answered("slow-store/prefetch/p99.9", PREFETCH),
    ]);
    goals
}

/// At least so many times the checks per second of another system.
fn ratio(bench: &'static str, system: &'static str, against: &'static str, min: f64) -> Goal {
    Goal::ratio(bench, system, AtLeast(min)).to(against)
}

fn calls(bench: &'static str, system: &'static str, max: f64) -> Goal {
    Goal::ratio(bench, system, AtMost(max)).value(CALLS_PER_CHECK)
}

fn always(bench: &'static str, system: &'static str, bound: Bound, unit: &'static str) -> Goal {
    Goal::ratio(bench, system, bound).in_every_round(unit)
}
