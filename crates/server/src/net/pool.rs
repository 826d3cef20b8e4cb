//! A pool of reusable values for one thread.

use std::cell::RefCell;

/// Maximum number of unused values kept. One would be enough for a store that responds at once; a
/// remote store has several connections waiting at the same time.
const MAX_KEPT: usize = 64;

/// Values that are not in use at the moment.
#[derive(Debug)]
pub(crate) struct Pool<T>(RefCell<Vec<T>>);

impl<T> Pool<T> {
    pub(crate) fn take(&self) -> Option<T> {
        self.0.borrow_mut().pop()
    }

    pub(crate) fn give_back(&self, value: T) {
        let mut kept = self.0.borrow_mut();
        if kept.len() < MAX_KEPT {
            kept.push(value);
        }
    }
}

impl<T> Default for Pool<T> {
    fn default() -> Pool<T> {
        Pool(RefCell::default())
    }
}
