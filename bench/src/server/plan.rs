//! The amount of work.

/// Number of connections.
pub(crate) const CONNECTIONS: usize = 50;

/// Number of keys over HTTP, even in a quick run: with fewer keys some checks would be denied, which
/// `wrk` cannot distinguish from an error.
pub(crate) const HTTP_KEYS: u64 = 1_000_000;

pub(crate) struct Plan {
    pub(crate) rounds: usize,
    /// Number of random keys.
    pub(crate) keys: u64,
    /// Number of requests in one turn without pipelining; with it there are more, since they take less.
    requests: u64,
    /// Duration of a turn over HTTP: `wrk` takes a duration in whole seconds, not a number of requests.
    pub(crate) seconds: u64,
}

impl Plan {
    pub(crate) fn new(rounds: usize, quick: bool) -> Plan {
        match quick {
            true => Plan { rounds, keys: 10_000, requests: 20_000, seconds: 1 },
            false => Plan { rounds, keys: 1_000_000, requests: 200_000, seconds: 3 },
        }
    }

    /// Returns the number of requests in a turn with this pipeline length.
    pub(crate) fn requests(&self, pipeline: u64) -> u64 {
        match pipeline {
            1 => self.requests,
            2..=16 => self.requests * 8,
            _ => self.requests * 16,
        }
    }
}
