//! How much is measured.

/// Checks that wait for their answer at any time, of each system.
pub(crate) const IN_FLIGHT: usize = 50;

pub(crate) struct Plan {
    pub(crate) rounds: usize,
    /// Different keys. In each turn every key is checked twice: when it is new, and when it is known.
    pub(crate) keys: usize,
    /// Checks before the first that counts, so that connections, scripts and compiled code are there.
    pub(crate) warm_up: usize,
}

impl Plan {
    pub(crate) fn new(rounds: usize, quick: bool) -> Plan {
        let keys = if quick { 10_000 } else { 100_000 };
        Plan { rounds, keys, warm_up: keys / 10 }
    }
}
