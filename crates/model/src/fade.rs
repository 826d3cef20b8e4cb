//! Fade (ar1): a count divided by `decay` in each slot of time. In doubles, with the operations and
//! the order that its definition names, so that the answers agree to the bit.

use crate::counting::{Change, Counting, Event, GREATEST_COUNT, Id};

pub(crate) struct Fade {
    max: f64,
    decay: f64,
    resolution: u64,
    last: Option<Counted>,
}

/// A count not below the floor, as of a write in slot `slot`.
#[derive(Clone, Copy)]
struct Counted {
    count: f64,
    slot: u64,
}

/// `decay` to the power of `slots`, by the loop of the definition.
pub(crate) fn power(decay: f64, mut slots: u64) -> f64 {
    let mut power = 1.0;
    let mut base = decay;
    while slots > 0 {
        if slots % 2 == 1 {
            power *= base;
        }
        base *= base;
        slots /= 2;
    }
    power
}

impl Fade {
    pub fn new(max: f64, decay: f64, resolution: u64) -> Fade {
        Fade { max, decay, resolution, last: None }
    }

    fn slot_of(&self, t: u64) -> u64 {
        t / self.resolution
    }

    /// A count too small to matter is none, so that there is a time to reset.
    fn or_none(&self, count: f64) -> f64 {
        if count < self.max / 1e6 { 0.0 } else { count }
    }

    fn count(&self, t: u64) -> f64 {
        self.last.map_or(0.0, |last| {
            let faded = last.count / power(self.decay, self.slot_of(t) - last.slot);
            self.or_none(faded)
        })
    }

    /// How much something counted at `at` has shrunk by `t`.
    fn shrunk(&self, at: u64, t: u64) -> f64 {
        power(self.decay, self.slot_of(t) - self.slot_of(at))
    }

    fn after(&self, before: f64, event: &Event) -> f64 {
        match event.change {
            Change::Take { cost, .. } => before + cost as f64,
            Change::Refund { cost } => (before - cost as f64).max(0.0),
            // With this on top, what the reservation took would not have shrunk to nothing.
            Change::TakeLate { cost, first, at, .. } => {
                let late = if before == 0.0 { cost + first } else { cost };
                before + late as f64 / self.shrunk(at, event.when)
            }
            Change::GiveBack { cost, at, .. } => {
                (before - cost as f64 / self.shrunk(at, event.when)).max(0.0)
            }
            Change::Release { .. } | Change::Renew { .. } => before,
        }
    }
}

impl Counting for Fade {
    fn instant(&self) -> u64 {
        self.last.map_or(0, |last| last.slot * self.resolution)
    }

    fn fits(&self, t: u64, cost: u64) -> bool {
        self.count(t) + cost as f64 <= self.max
    }

    fn empty(&self, t: u64) -> bool {
        self.count(t) == 0.0
    }

    fn overflows(&self, t: u64) -> bool {
        self.count(t) > GREATEST_COUNT as f64
    }

    fn still(&self, t: u64, at: u64, _id: Id) -> u64 {
        // A state younger in time than the reservation holds nothing of it.
        if self.slot_of(t) < self.slot_of(at) {
            return 0;
        }
        (self.count(t) * self.shrunk(at, t)).floor() as u64
    }

    fn apply(&mut self, event: &Event) -> bool {
        let before = self.count(event.when);
        let count = self.or_none(self.after(before, event));
        if count == before {
            return false;
        }
        let slot = self.slot_of(event.when);
        self.last = (count > 0.0).then_some(Counted { count, slot });
        true
    }
}
