//! Flow (gcra, token-bucket): a level that sinks evenly, `n` in each window.

use crate::counting::{Counting, Event, Id, MAX_COUNT};

/// Levels are counted in `window`-ths of a unit: in one tick exactly `n` of them leave.
pub(crate) struct Flow {
    n: i128,
    window: i128,
    burst: i128,
    last: Option<Level>,
}

/// A level above 0, and the instant at which it was measured.
#[derive(Clone, Copy)]
struct Level {
    parts: i128,
    at: u64,
}

impl Flow {
    pub fn new(n: u64, window: u64, burst: u64) -> Flow {
        Flow { n: n.into(), window: window.into(), burst: burst.into(), last: None }
    }

    /// Returns the level at `t`. Before the last event it was accordingly higher: a flow implies no
    /// instant, and after a step back of the clock the level that has not yet drained counts again.
    fn level(&self, t: u64) -> i128 {
        self.last.map_or(0, |level| {
            let elapsed = i128::from(t) - i128::from(level.at);
            (level.parts - elapsed * self.n).max(0)
        })
    }
}

impl Counting for Flow {
    fn instant(&self) -> u64 {
        0
    }

    fn fits(&self, t: u64, cost: u64) -> bool {
        self.level(t) + i128::from(cost) * self.window <= self.burst * self.window
    }

    fn empty(&self, t: u64) -> bool {
        self.level(t) == 0
    }

    fn overflows(&self, t: u64) -> bool {
        self.level(t) > i128::from(MAX_COUNT) * self.window
    }

    fn refundable(&self, t: u64, _at: u64, _id: Id) -> u64 {
        (self.level(t) / self.window) as u64
    }

    fn apply(&mut self, event: &Event) -> bool {
        let before = self.level(event.when);
        let parts = (before + event.change.amount() * self.window).max(0);
        if parts == before {
            return false;
        }
        let at = event.when;
        self.last = (parts > 0).then_some(Level { parts, at });
        true
    }
}
