//! The keys that the store is to be charged for: checks of them were allowed without it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tollgate_core::Op;

use crate::layers::budget::Budget;
use crate::layers::hash::Hash;
use crate::layers::owned_op::OwnedOp;
use crate::layers::stats::Counter;
use crate::layers::table::{Entry, Table};
use crate::layers::write_ids::WriteId;

/// Keys whose counts the store does not know.
pub(super) struct UnchargedKeys {
    keys: Table<Uncharged>,
    budget: Arc<Budget>,
    /// Number of states that they may have, and the most there may be.
    states: AtomicUsize,
    max_states: usize,
    queue: Mutex<Vec<Hash>>,
    /// Whether there are none.
    is_empty: AtomicBool,
    /// Number of checks that were allowed and will not be charged, for lack of memory.
    lost: Counter,
}

struct Uncharged {
    op: Arc<OwnedOp>,
    /// What was taken out of the counts and is being charged, under this id.
    charge: Option<(Vec<u64>, WriteId)>,
}

impl Entry for Uncharged {
    fn is_idle(&self, _: u64) -> bool {
        false
    }

    fn heap_bytes(&self) -> usize {
        self.op.bytes()
    }
}

/// A charge: the operation, the cost of each of its limits, and its id.
pub(super) type Charge = (Arc<OwnedOp>, Vec<u64>, WriteId);

impl UnchargedKeys {
    /// They take at most so many bytes, and so many states in a store.
    pub(super) fn new(bytes: usize, max_states: usize) -> UnchargedKeys {
        let budget = Arc::new(Budget::new(bytes));
        UnchargedKeys {
            keys: Table::new(Arc::clone(&budget)),
            budget,
            states: AtomicUsize::new(0),
            max_states,
            queue: Mutex::default(),
            is_empty: AtomicBool::new(true),
            lost: Counter::default(),
        }
    }

    pub(super) fn max_states(&self) -> usize {
        self.max_states
    }

    /// Returns how many bytes they take.
    pub(super) fn bytes(&self) -> usize {
        self.budget.used()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.is_empty.load(Ordering::Relaxed)
    }

    pub(super) fn len(&self) -> usize {
        self.queue().len()
    }

    /// Returns the number of checks that were allowed and will not be charged, for lack of memory.
    pub(super) fn lost(&self) -> u64 {
        self.lost.get()
    }

    pub(super) fn contains(&self, hash: Hash) -> bool {
        self.keys.lock(hash).is_some_and(|mut keys| keys.get_mut(hash).is_some())
    }

    /// Adds a key for a check that is allowed. Returns whether there is room for it; if not, the check is lost.
    pub(super) fn note(&self, hash: Hash, op: &Op<'_>) -> bool {
        let is_noted = self.contains(hash) || self.add(hash, op);
        if !is_noted {
            self.lost.add(1);
        }
        is_noted
    }

    fn add(&self, hash: Hash, op: &Op<'_>) -> bool {
        let count = op.items.len();
        let add = |states: usize| states.checked_add(count).filter(|all| *all <= self.max_states);
        if self.states.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_err() {
            return false;
        }
        let is_new = self.keys.lock(hash).is_some_and(|mut keys| {
            let entry = Uncharged { op: Arc::new(OwnedOp::new(op)), charge: None };
            // Another caller may have added it meanwhile. None of them is ever idle, whatever the time.
            keys.get_mut(hash).is_none() && keys.insert(hash, entry, 0)
        });
        if is_new {
            self.push(hash);
            return true;
        }
        self.states.fetch_sub(count, Ordering::Relaxed);
        self.contains(hash)
    }

    /// Returns what a key is to be charged with, as `drain` takes it out of the counts. Until it is
    /// [charged](UnchargedKeys::charged) it stays the same, under the same id, so that it is charged once. If there is
    /// nothing, the key is removed.
    pub(super) fn take(
        &self,
        hash: Hash,
        drain: impl FnOnce(&OwnedOp) -> Option<(Vec<u64>, WriteId)>,
    ) -> Option<Charge> {
        let mut keys = self.keys.lock(hash)?;
        let key = keys.get_mut(hash)?;
        let op = Arc::clone(&key.op);
        if key.charge.is_none() {
            key.charge = drain(&op);
        }
        let Some((costs, id)) = key.charge.clone() else {
            keys.remove(hash);
            self.states.fetch_sub(op.len(), Ordering::Relaxed);
            return None;
        };
        Some((op, costs, id))
    }

    /// Notes that the store has booked the charge of a key.
    pub(super) fn charged(&self, hash: Hash) {
        if let Some(mut keys) = self.keys.lock(hash)
            && let Some(key) = keys.get_mut(hash)
        {
            key.charge = None;
        }
    }

    /// Puts a key back into the queue of those that are to be charged.
    pub(super) fn push(&self, hash: Hash) {
        let mut queue = self.queue();
        queue.push(hash);
        self.is_empty.store(false, Ordering::Relaxed);
    }

    /// Takes a key out of the queue.
    pub(super) fn pop(&self) -> Option<Hash> {
        let mut queue = self.queue();
        let hash = queue.pop();
        self.is_empty.store(queue.is_empty(), Ordering::Relaxed);
        hash
    }

    fn queue(&self) -> MutexGuard<'_, Vec<Hash>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
