//! The amount of work.

/// Number of checks in flight.
pub(crate) const IN_FLIGHT: usize = 50;

pub(crate) struct Plan {
    pub(crate) rounds: usize,
    /// Number of keys. In each turn every key is checked twice: when it is new, and when it is known.
    pub(crate) keys: usize,
    /// Number of checks before the measurement, so that connections, scripts and compiled code are ready.
    pub(crate) warm_up: usize,
}

impl Plan {
    pub(crate) fn new(rounds: usize, quick: bool) -> Plan {
        let keys = if quick { 10_000 } else { 100_000 };
        Plan { rounds, keys, warm_up: keys / 10 }
    }
}
