//! The figures of a shape.

use crate::distributed::turn::Turn;

pub(crate) struct Figure {
    /// What follows the name of the bench.
    pub(crate) suffix: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) about: &'static str,
    pub(crate) value: fn(&Turn) -> f64,
    /// Whether systems are compared by it.
    pub(crate) is_compared: bool,
}

pub(crate) const CHECKS_PER_SECOND: &str = "checks/s";
pub(crate) const CALLS_PER_CHECK: &str = "calls/check";
pub(crate) const CHECKS: &str = "checks";
pub(crate) const MICROS: &str = "us";

pub(crate) const SPEED: [Figure; 4] = [
    Figure {
        suffix: "",
        unit: CHECKS_PER_SECOND,
        about: "all nodes together; more is better",
        value: Turn::checks_per_second,
        is_compared: true,
    },
    latency("/p50", "half of the checks take at most so long", |turn| turn.slowest(|p| p.p50)),
    latency("/p99", "99% of the checks take at most so long", |turn| turn.slowest(|p| p.p99)),
    Figure {
        suffix: "",
        unit: CALLS_PER_CHECK,
        about: "script calls of the store per check",
        value: Turn::calls_per_check,
        is_compared: false,
    },
];

pub(crate) const ADMITTED: [Figure; 1] = [Figure {
    suffix: "",
    unit: CHECKS,
    about: "allowed by all nodes together",
    value: Turn::allowed,
    is_compared: false,
}];

pub(crate) const PACED: [Figure; 2] = [
    Figure {
        suffix: "",
        unit: CHECKS_PER_SECOND,
        about: "allowed per second on average",
        value: Turn::allowed_per_second,
        is_compared: false,
    },
    Figure {
        suffix: "/max",
        unit: CHECKS,
        about: "most that were allowed within one second",
        value: Turn::most_in_a_second,
        is_compared: false,
    },
];

pub(crate) const SLOW_STORE: [Figure; 1] =
    [latency("/p99.9", "99.9% of the checks take at most so long", |turn| {
        turn.slowest(|p| p.p999)
    })];

const fn latency(suffix: &'static str, about: &'static str, value: fn(&Turn) -> f64) -> Figure {
    Figure { suffix, unit: MICROS, about, value, is_compared: false }
}
