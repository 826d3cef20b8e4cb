//! The keys that the store is to be charged for: checks of them were allowed without it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tollgate_core::storage::ID_TTL;
use tollgate_core::{Act, Item, Op};

use crate::layers::budget::{Budget, Part};
use crate::layers::costs::Costs;
use crate::layers::hash::Hash;
use crate::layers::owned_op::OwnedOp;
use crate::layers::stats::Counter;
use crate::layers::table::{Entry, Table};
use crate::layers::write_ids::WriteId;

/// How long a charge may be on its way, in microseconds.
const MAX_DELAY: u64 = 10_000_000;
/// How long a charge can be repeated, in microseconds: as long as the store remembers its id, so that it is done once.
const REPEATABLE_FOR: u64 = ID_TTL.as_micros().saturating_sub(MAX_DELAY);

/// Keys whose counts the store does not know.
pub(super) struct UnchargedKeys {
    keys: Table<Uncharged>,
    budget: Arc<Budget>,
    /// Number of states that they may have, and the most there may be.
    states: AtomicUsize,
    max_states: usize,
    queue: Mutex<VecDeque<Hash>>,
    /// Whether there are none.
    is_empty: AtomicBool,
    /// Number of checks that were allowed and will not be charged for lack of memory, and of charges that got no answer
    /// and can no longer be repeated.
    lost: Counter,
}

struct Uncharged {
    op: Arc<OwnedOp>,
    /// What was taken out of the counts and is being charged.
    charge: Option<Charge>,
}

impl Entry for Uncharged {
    fn is_idle(&self, _: u64) -> bool {
        false
    }

    fn heap_bytes(&self) -> usize {
        self.op.bytes()
    }
}

/// What a key is charged with.
#[derive(Clone)]
pub(super) struct Charge {
    op: Arc<OwnedOp>,
    /// The cost of each limit.
    costs: Costs,
    id: WriteId,
    /// When it still counted, in microseconds.
    pub(super) since: u64,
    /// Whether it was sent before and not answered, so that it may be done.
    pub(super) is_repeated: bool,
}

impl Charge {
    pub(super) fn new(op: &Arc<OwnedOp>, costs: Costs, id: WriteId, since: u64) -> Charge {
        Charge { op: Arc::clone(op), costs, id, since, is_repeated: false }
    }

    pub(super) fn items(&self) -> Vec<Item<'_>> {
        self.costs.items(&self.op.items())
    }

    /// Returns the operation on these items.
    pub(super) fn op<'a>(&'a self, items: &'a [Item<'a>]) -> Op<'a> {
        let op = self.op.op(items).with_act(Act::Charge);
        self.id.as_id().map_or(op, |id| op.with_id(id))
    }
}

impl UnchargedKeys {
    /// They take at most so many bytes, and so many states in a store.
    pub(super) fn new(bytes: usize, max_states: usize) -> UnchargedKeys {
        let budget = Arc::new(Budget::new(bytes));
        UnchargedKeys {
            keys: Table::new(Part::whole(&budget)),
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

    /// Returns the number of checks and charges that are lost.
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
        now: u64,
        drain: impl FnOnce(&Arc<OwnedOp>) -> Option<Charge>,
    ) -> Option<Charge> {
        let mut keys = self.keys.lock(hash)?;
        let key = keys.get_mut(hash)?;
        key.charge.take_if(|charge| self.is_over(charge, now));
        match &mut key.charge {
            Some(charge) => charge.is_repeated = true,
            none => *none = drain(&key.op),
        }
        if key.charge.is_none() {
            self.states.fetch_sub(key.op.len(), Ordering::Relaxed);
            keys.remove(hash);
            return None;
        }
        key.charge.clone()
    }

    /// Returns whether a charge without an answer cannot be repeated: nothing of it counts any more, or it might be
    /// done twice.
    fn is_over(&self, charge: &Charge, now: u64) -> bool {
        let age = now.saturating_sub(charge.since);
        let is_void = age >= charge.op.full_reset_after();
        let is_lost = !is_void && age >= REPEATABLE_FOR;
        if is_lost {
            self.lost.add(1);
        }
        is_void || is_lost
    }

    /// Notes that the store has booked the charge of a key, or certainly has not. Returns whether there was one.
    pub(super) fn charged(&self, hash: Hash) -> bool {
        let Some(mut keys) = self.keys.lock(hash) else { return false };
        keys.get_mut(hash).is_some_and(|key| key.charge.take().is_some())
    }

    /// Puts a key at the end of the queue of those that are to be charged.
    pub(super) fn push(&self, hash: Hash) {
        let mut queue = self.queue();
        queue.push_back(hash);
        self.is_empty.store(false, Ordering::Relaxed);
    }

    /// Takes some keys out of the queue.
    pub(super) fn pop(&self, max: usize) -> Vec<Hash> {
        let mut queue = self.queue();
        let count = queue.len().min(max);
        let hashes = queue.drain(..count).collect();
        self.is_empty.store(queue.is_empty(), Ordering::Relaxed);
        hashes
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<Hash>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
