//! Things that are lent again and again.

use std::cell::RefCell;

/// How many of each are kept for those to come: one is enough where the store answers at once.
const MAX_KEPT: usize = 64;

/// What nobody uses at the moment.
#[derive(Debug)]
pub(crate) struct Pool<T>(RefCell<Vec<T>>);

impl<T> Pool<T> {
    pub(crate) fn take(&self) -> Option<T> {
        self.0.borrow_mut().pop()
    }

    pub(crate) fn give_back(&self, one: T) {
        let mut kept = self.0.borrow_mut();
        if kept.len() < MAX_KEPT {
            kept.push(one);
        }
    }
}

impl<T> Default for Pool<T> {
    fn default() -> Pool<T> {
        Pool(RefCell::default())
    }
}
