//! The figures of every system.

use crate::redis::turn::Turn;

pub(crate) struct Bench {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) about: &'static str,
    pub(crate) value: fn(&Turn) -> f64,
}

pub(crate) const CLIENT_CPU: &str = "client-cpu";
pub(crate) const REDIS_CPU: &str = "redis-cpu";

pub(crate) const ALL: [Bench; 5] = [
    Bench {
        name: "checks-per-second",
        unit: "checks/s",
        about: "50 in flight over one Redis; more is better",
        value: Turn::checks_per_second,
    },
    Bench {
        name: CLIENT_CPU,
        unit: "us",
        about: "CPU time of the client per check",
        value: Turn::client_micros,
    },
    Bench {
        name: REDIS_CPU,
        unit: "us",
        about: "CPU time of Redis per check",
        value: Turn::redis_micros,
    },
    Bench {
        name: "redis-cpu-new",
        unit: "us",
        about: "CPU time of Redis per check of a new key",
        value: |turn| turn.new.redis_micros(),
    },
    Bench {
        name: "redis-cpu-known",
        unit: "us",
        about: "CPU time of Redis per check of a known key",
        value: |turn| turn.known.redis_micros(),
    },
];
