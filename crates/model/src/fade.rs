//! Fade (ar1): a count divided by `decay` in each slot of time. Uses doubles, with the operations
//! in the order of its definition, so that the results agree to the bit.

use crate::counting::{Change, Counting, Event, Id, MAX_COUNT};

pub(crate) struct Fade {
    max: f64,
    decay: f64,
    resolution: u64,
    last: Option<Counted>,
}

/// A count not below the floor, as of a write in `slot`.
#[derive(Clone, Copy)]
struct Counted {
    count: f64,
    slot: u64,
}

/// Returns `decay` to the power of `slots`, by the loop of the definition.
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

    /// Returns 0 for a count below the floor, so that there is a time to reset.
    fn or_none(&self, count: f64) -> f64 {
        if count < self.max / 1e6 { 0.0 } else { count }
    }

    fn count(&self, t: u64) -> f64 {
        self.last.map_or(0.0, |last| {
            let faded = last.count / power(self.decay, self.slot_of(t) - last.slot);
            self.or_none(faded)
        })
    }

    /// Returns the divisor by which a count of `at` has decayed at `t`.
    fn shrunk(&self, at: u64, t: u64) -> f64 {
        power(self.decay, self.slot_of(t) - self.slot_of(at))
    }

    fn after(&self, before: f64, event: &Event) -> f64 {
        match event.change {
            Change::Take { cost, .. } => before + cost as f64,
            Change::Refund { cost } => (before - cost as f64).max(0.0),
            // Together with this amount, the reservation would not have decayed below the floor.
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
        self.count(t) > MAX_COUNT as f64
    }

    fn refundable(&self, t: u64, at: u64, _id: Id) -> u64 {
        // A state that is later than the reservation contains nothing of it.
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
