//! The amount of work.

use crate::distributed::shape::Shape;

/// Number of callers of a node, each of which waits for its answer before it checks again.
pub(crate) const CALLERS: usize = 256;

pub(crate) struct Plan {
    pub(crate) rounds: usize,
    quick: bool,
    /// Number of random keys of a node, which it checks again and again.
    pub(crate) draws: u64,
    /// Seconds before the measurement, so that connections, scripts and compiled code are ready.
    pub(crate) warm_up: f64,
}

impl Plan {
    pub(crate) fn new(rounds: usize, quick: bool) -> Plan {
        let (draws, warm_up) = if quick { (100_000, 0.3) } else { (1_000_000, 1.0) };
        Plan { rounds, quick, draws, warm_up }
    }

    /// Returns the length of a turn.
    pub(crate) fn seconds(&self, shape: &Shape) -> f64 {
        if self.quick { shape.seconds.quick } else { shape.seconds.full }
    }
}
