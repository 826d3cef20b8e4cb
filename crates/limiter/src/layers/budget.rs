//! The bound on the memory of all layers together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Default bound on the memory of all layers of a store together, in bytes.
pub const DEFAULT_LAYER_MEMORY: usize = 64 << 20;

/// Returns the part of the bound that is kept for what is counted while the store is unavailable: a quarter. The
/// tables, which are in use at any time, have the rest.
pub(super) fn for_outages(max_memory: usize) -> usize {
    max_memory / 4
}

/// A table may take as much as this times what is left. So one alone takes three quarters of it all, two together six
/// sevenths, and none can use up the room of another.
const TIMES_LEFT: usize = 3;

/// The bytes that the tables of all layers of one store may take.
#[derive(Debug)]
pub(crate) struct Budget {
    max: usize,
    used: AtomicUsize,
}

impl Budget {
    pub(super) fn new(max: usize) -> Budget {
        Budget { max, used: AtomicUsize::new(0) }
    }

    /// Returns how many bytes are in use.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }
}

/// What one table takes of a budget.
#[derive(Debug)]
pub(super) struct Part {
    budget: Arc<Budget>,
    own: AtomicUsize,
    times_left: usize,
}

impl Part {
    /// Creates the part of one of several tables.
    pub(super) fn of(budget: &Arc<Budget>) -> Part {
        Part { budget: Arc::clone(budget), own: AtomicUsize::new(0), times_left: TIMES_LEFT }
    }

    /// Creates the part of the only table.
    pub(super) fn whole(budget: &Arc<Budget>) -> Part {
        Part { times_left: usize::MAX, ..Part::of(budget) }
    }

    /// Takes some bytes, if there are as many left for this table.
    pub(super) fn take(&self, bytes: usize) -> bool {
        let Budget { max, used } = &*self.budget;
        let own = self.own.load(Ordering::Relaxed);
        let take = |used: usize| {
            let left = max.saturating_sub(used);
            let is_left = bytes <= left && own <= left.saturating_mul(self.times_left);
            is_left.then(|| used.saturating_add(bytes))
        };
        let is_taken = used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok();
        if is_taken {
            self.own.fetch_add(bytes, Ordering::Relaxed);
        }
        is_taken
    }

    pub(super) fn give_back(&self, bytes: usize) {
        self.own.fetch_sub(bytes, Ordering::Relaxed);
        self.budget.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_table_uses_up_the_room_of_another() {
        let budget = Arc::new(Budget::new(1_000));
        let [flooded, other] = [(); 2].map(|()| Part::of(&budget));
        let taken = |part: &Part| (0..2_000).filter(|_| part.take(1)).count();
        assert_eq!(taken(&flooded), 751);
        assert!(taken(&other) > 150 && budget.used() <= 1_000);
        flooded.give_back(751);
        assert!(taken(&other) > 500);
        assert_eq!(taken(&Part::whole(&Arc::new(Budget::new(1_000)))), 1_000);
    }
}
