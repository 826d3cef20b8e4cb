//! How much is measured.

pub(crate) struct Plan {
    pub(crate) rounds: usize,
    /// Checks of the hot key, by each thread in each round.
    pub(crate) hot_checks: u64,
    /// Keys that every system holds before it is timed.
    pub(crate) keys: u64,
    /// Checks of keys drawn among them, by each thread in each round.
    pub(crate) draws: u64,
    /// What "1m" and "5m" are divided by.
    pub(crate) fewer: u64,
}

impl Plan {
    pub(crate) fn new(rounds: usize, quick: bool) -> Plan {
        let fewer = if quick { 20 } else { 1 };
        let million = 1_000_000 / fewer;
        Plan { rounds, hot_checks: million, keys: million, draws: million, fewer }
    }
}
