//! The amount of work.

pub(crate) struct Plan {
    pub(crate) rounds: usize,
    /// Number of checks of the hot key, per thread and round.
    pub(crate) hot_checks: u64,
    /// Number of keys that every system holds before it is measured.
    pub(crate) keys: u64,
    /// Number of checks of random keys, per thread and round.
    pub(crate) draws: u64,
    /// Divisor of the numbers of keys: 20 in a quick run, else 1.
    pub(crate) divisor: u64,
}

impl Plan {
    pub(crate) fn new(rounds: usize, quick: bool) -> Plan {
        let divisor = if quick { 20 } else { 1 };
        let million = 1_000_000 / divisor;
        Plan { rounds, hot_checks: million, keys: million, draws: million, divisor }
    }
}
