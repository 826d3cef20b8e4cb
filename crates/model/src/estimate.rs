//! Estimate (sliding-window): the count of the current window, and the share of the previous one
//! that a window ending now still covers.

use crate::counting::{Change, Counting, Event, Id, MAX_COUNT};

pub(crate) struct Estimate {
    n: u64,
    window: u64,
    /// The window of the last write.
    newest: u64,
    /// Windows with a count above 0.
    counts: Vec<Count>,
}

#[derive(Clone, Copy)]
struct Count {
    number: u64,
    count: u64,
}

impl Estimate {
    pub fn new(n: u64, window: u64) -> Estimate {
        Estimate { n, window, newest: 0, counts: Vec::new() }
    }

    fn window_of(&self, t: u64) -> u64 {
        t / self.window
    }

    fn counted_in(&self, number: u64) -> u64 {
        let count = self.counts.iter().find(|count| count.number == number);
        count.map_or(0, |count| count.count)
    }

    /// Returns the count of the window of `t`.
    fn current(&self, t: u64) -> u64 {
        self.counted_in(self.window_of(t))
    }

    /// Returns the count of the window before that of `t`.
    fn previous(&self, t: u64) -> u64 {
        let before = self.window_of(t).checked_sub(1);
        before.map_or(0, |number| self.counted_in(number))
    }

    /// Returns whether the window of `at` is that of `t` or the one before.
    fn reaches(&self, t: u64, at: u64) -> bool {
        self.window_of(at) + 1 >= self.window_of(t)
    }

    fn add(&mut self, number: u64, count: u64) {
        match self.counts.iter_mut().find(|it| it.number == number) {
            Some(counted) => counted.count += count,
            None => self.counts.push(Count { number, count }),
        }
    }

    /// Removes up to `cost` from one window. Returns how much was removed.
    fn remove(&mut self, number: u64, cost: u64) -> u64 {
        let mut given = 0;
        if let Some(counted) = self.counts.iter_mut().find(|it| it.number == number) {
            given = counted.count.min(cost);
            counted.count -= given;
        }
        given
    }

    fn refund(&mut self, t: u64, cost: u64) -> bool {
        let number = self.window_of(t);
        let mut given = self.remove(number, cost);
        if let Some(before) = number.checked_sub(1) {
            given += self.remove(before, cost - given);
        }
        given > 0
    }

    fn change(&mut self, event: &Event) -> bool {
        let when = event.when;
        match event.change {
            Change::Take { cost, .. } => self.add(self.window_of(when), cost),
            Change::TakeLate { cost, at, .. } if self.reaches(when, at) => {
                self.add(self.window_of(at), cost);
            }
            Change::Refund { cost } => return self.refund(when, cost),
            Change::GiveBack { cost, at, .. } if self.reaches(when, at) => {
                return self.remove(self.window_of(at), cost) > 0;
            }
            _ => return false,
        }
        true
    }
}

impl Counting for Estimate {
    fn instant(&self) -> u64 {
        if self.counts.is_empty() {
            return 0;
        }
        self.newest * self.window
    }

    fn fits(&self, t: u64, cost: u64) -> bool {
        let window = u128::from(self.window);
        let covered = window - u128::from(t) % window;
        let current = u128::from(self.current(t) + cost);
        let weighed = u128::from(self.previous(t)) * covered + current * window;
        weighed <= u128::from(self.n) * window
    }

    fn empty(&self, t: u64) -> bool {
        self.current(t) == 0 && self.previous(t) == 0
    }

    fn overflows(&self, t: u64) -> bool {
        self.current(t).max(self.previous(t)) > MAX_COUNT
    }

    fn refundable(&self, t: u64, at: u64, _id: Id) -> u64 {
        if !self.reaches(t, at) {
            return 0;
        }
        self.counted_in(self.window_of(at))
    }

    fn apply(&mut self, event: &Event) -> bool {
        if event.change.amount() == 0 || !self.change(event) {
            return false;
        }
        self.newest = self.window_of(event.when);
        let oldest = self.newest.saturating_sub(1);
        self.counts.retain(|it| it.number >= oldest && it.count > 0);
        true
    }
}
