//! How much is measured.

/// Connections at once.
pub(crate) const CONNECTIONS: usize = 50;

/// Different keys over HTTP, even in a quick run: of fewer some would be denied, and `wrk` cannot
/// tell that from a mistake.
pub(crate) const HTTP_KEYS: u64 = 1_000_000;

pub(crate) struct Plan {
    pub(crate) rounds: usize,
    /// Different keys, chosen at random.
    pub(crate) keys: u64,
    /// How many requests are sent in one turn without a pipeline; more with one, since they take less.
    requests: u64,
    /// How long a turn over HTTP takes: `wrk` is told a time, in whole seconds, and not a number.
    pub(crate) seconds: u64,
}

impl Plan {
    pub(crate) fn new(rounds: usize, quick: bool) -> Plan {
        match quick {
            true => Plan { rounds, keys: 10_000, requests: 20_000, seconds: 1 },
            false => Plan { rounds, keys: 1_000_000, requests: 200_000, seconds: 3 },
        }
    }

    /// How many requests there are in a turn, so many at a time.
    pub(crate) fn requests(&self, pipeline: u64) -> u64 {
        match pipeline {
            1 => self.requests,
            2..=16 => self.requests * 8,
            _ => self.requests * 16,
        }
    }
}
