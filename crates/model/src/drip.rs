//! Drip (leaky-bucket, token-bucket whole, legacy): `drip` units leave together once in `every`,
//! counted from the moment cost entered an empty bucket.

use crate::counting::{Counting, Event, Id, MAX_COUNT};

pub(crate) struct Drip {
    size: u64,
    drip: u64,
    every: u64,
    last: Option<Level>,
}

/// A level above 0, and the last drip (or the first entry of cost) before it was measured.
#[derive(Clone, Copy)]
struct Level {
    water: u64,
    since: u64,
}

impl Drip {
    pub fn new(size: u64, drip: u64, every: u64) -> Drip {
        Drip { size, drip, every, last: None }
    }

    fn level(&self, t: u64) -> u64 {
        self.last.map_or(0, |level| {
            let drips = (t - level.since) / self.every;
            level.water.saturating_sub(drips.saturating_mul(self.drip))
        })
    }

    /// Returns the time of the last drip at or before `t`; `t` itself if the bucket is empty by then.
    fn last_drip(&self, t: u64) -> u64 {
        match self.last {
            Some(level) if !self.empty(t) => t - (t - level.since) % self.every,
            _ => t,
        }
    }
}

impl Counting for Drip {
    fn instant(&self) -> u64 {
        self.last.map_or(0, |level| level.since)
    }

    fn fits(&self, t: u64, cost: u64) -> bool {
        self.level(t) + cost <= self.size
    }

    fn empty(&self, t: u64) -> bool {
        self.level(t) == 0
    }

    fn overflows(&self, t: u64) -> bool {
        self.level(t) > MAX_COUNT
    }

    fn refundable(&self, t: u64, _at: u64, _id: Id) -> u64 {
        self.level(t)
    }

    fn apply(&mut self, event: &Event) -> bool {
        let before = self.level(event.when);
        let water = (i128::from(before) + event.change.amount()).max(0) as u64;
        if water == before {
            return false;
        }
        let since = self.last_drip(event.when);
        self.last = (water > 0).then_some(Level { water, since });
        true
    }
}
