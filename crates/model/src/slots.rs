//! Slots (sliding-log, sliding-counters): counts per slot of time, of which the recent ones count.

use crate::counting::{Change, Counting, Event, Id, MAX_COUNT};

pub(crate) struct Slots {
    n: u64,
    window: u64,
    resolution: u64,
    strict: bool,
    /// In order of time, each with a count above 0.
    slots: Vec<Slot>,
}

#[derive(Clone, Copy)]
struct Slot {
    number: u64,
    count: u64,
}

impl Slots {
    pub fn new(n: u64, window: u64, resolution: u64, strict: bool) -> Slots {
        Slots { n, window, resolution, strict, slots: Vec::new() }
    }

    fn slot_of(&self, t: u64) -> u64 {
        t / self.resolution
    }

    /// Returns the first slot that counts at `t`. It is signed, since soon after the epoch a window
    /// begins before it.
    fn oldest_counting(&self, t: u64) -> i64 {
        let edge = t as i64 - self.window as i64;
        edge.div_euclid(self.resolution as i64) + i64::from(!self.strict)
    }

    fn counting(&self, t: u64) -> impl Iterator<Item = &Slot> {
        let oldest = self.oldest_counting(t);
        let newest_first = self.slots.iter().rev();
        newest_first.take_while(move |slot| slot.number as i64 >= oldest)
    }

    fn total(&self, t: u64) -> u64 {
        self.counting(t).map(|slot| slot.count).sum()
    }

    fn add(&mut self, number: u64, count: u64) {
        let place = self.slots.partition_point(|slot| slot.number < number);
        match self.slots.get_mut(place) {
            Some(slot) if slot.number == number => slot.count += count,
            _ => self.slots.insert(place, Slot { number, count }),
        }
    }

    /// Removes `cost` from the slots that `from` selects, newest first.
    fn remove(&mut self, mut cost: u64, from: impl Fn(u64) -> bool) {
        for slot in self.slots.iter_mut().rev() {
            if from(slot.number) {
                let given = slot.count.min(cost);
                slot.count -= given;
                cost -= given;
            }
        }
        self.slots.retain(|slot| slot.count > 0);
    }

    /// Removes slots that can never count again: no decision is made before the start of the newest
    /// slot. If no slot counts any more, removes all.
    fn remove_past(&mut self, when: u64) {
        let oldest = self.oldest_counting(self.instant());
        self.slots.retain(|slot| slot.number as i64 >= oldest);
        if self.empty(when) {
            self.slots.clear();
        }
    }

    fn changes(&self, event: &Event) -> bool {
        let when = event.when;
        match event.change {
            Change::Take { .. } => true,
            Change::TakeLate { at, .. } => self.slot_of(at) as i64 >= self.oldest_counting(when),
            Change::Refund { .. } => !self.empty(when),
            Change::GiveBack { at, id, .. } => self.refundable(when, at, id) > 0,
            Change::Release { .. } | Change::Renew { .. } => false,
        }
    }
}

impl Counting for Slots {
    fn instant(&self) -> u64 {
        let newest = self.slots.last();
        newest.map_or(0, |slot| slot.number * self.resolution)
    }

    fn fits(&self, t: u64, cost: u64) -> bool {
        self.total(t) + cost <= self.n
    }

    fn empty(&self, t: u64) -> bool {
        self.counting(t).next().is_none()
    }

    fn overflows(&self, t: u64) -> bool {
        self.total(t) > MAX_COUNT
    }

    fn refundable(&self, t: u64, at: u64, _id: Id) -> u64 {
        let number = self.slot_of(at);
        let slot = self.counting(t).find(|slot| slot.number == number);
        slot.map_or(0, |slot| slot.count)
    }

    fn apply(&mut self, event: &Event) -> bool {
        if event.change.amount() == 0 || !self.changes(event) {
            return false;
        }
        if self.empty(event.when) {
            self.slots.clear();
        }
        let counts = self.oldest_counting(event.when);
        match event.change {
            Change::Take { cost, .. } => self.add(self.slot_of(event.when), cost),
            Change::TakeLate { cost, at, .. } => self.add(self.slot_of(at), cost),
            Change::Refund { cost } => self.remove(cost, |number| number as i64 >= counts),
            Change::GiveBack { cost, at, .. } => {
                let taken = self.slot_of(at);
                self.remove(cost, |number| number == taken);
            }
            Change::Release { .. } | Change::Renew { .. } => {}
        }
        self.remove_past(event.when);
        true
    }
}
