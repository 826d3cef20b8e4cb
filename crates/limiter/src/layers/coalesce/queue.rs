//! The checks that wait for a call on the same key to be answered.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tollgate_core::Op;

use crate::layers::hash::{Hash, index_in};
use crate::layers::owned_op::OwnedOp;
use crate::layers::table::Identity;

/// Number of parts with a lock each.
const SHARDS: usize = 64;

/// A queue for each key that has a call under way.
pub(super) struct Queues<A> {
    shards: Box<[Shard<A>]>,
}

type Shard<A> = Mutex<ByKey<A>>;

type ByKey<A> = HashMap<Hash, VecDeque<Waiter<A>>, BuildHasherDefault<Identity>>;

/// What becomes of a check that may have to wait.
pub(super) enum Joined<A> {
    /// No call on its key is under way: it goes at once.
    First,
    /// It waits. If as many wait as one call takes, they are to be sent now.
    Waits(oneshot::Receiver<A>, Vec<Waiter<A>>),
}

/// A check that waits.
pub(super) struct Waiter<A> {
    pub(super) op: Arc<OwnedOp>,
    /// The hash of the check if it has no id: those with the same hash share a copy.
    question: Option<Hash>,
    pub(super) with_statuses: bool,
    pub(super) answer: oneshot::Sender<A>,
}

impl<A> Default for Queues<A> {
    fn default() -> Queues<A> {
        Queues { shards: (0..SHARDS).map(|_| Shard::default()).collect() }
    }
}

impl<A> Queues<A> {
    /// Waits behind the call on this key, if one is under way. Otherwise this call is, until
    /// [`take`](Queues::take) returns nothing.
    pub(super) fn join(
        &self,
        key: Hash,
        op: &Op<'_>,
        max: usize,
        question: impl Fn() -> Hash,
    ) -> Joined<A> {
        let Some(mut queues) = self.lock(key) else { return Joined::First };
        let waiters = match queues.entry(key) {
            Entry::Vacant(free) => {
                free.insert(VecDeque::new());
                return Joined::First;
            }
            Entry::Occupied(queue) => queue.into_mut(),
        };
        let question = op.id.is_none().then(question);
        let last = waiters.back().filter(|last| question.is_some() && last.question == question);
        let op_copy = last.map_or_else(|| Arc::new(OwnedOp::new(op)), |last| Arc::clone(&last.op));
        let (answer, receiver) = oneshot::channel();
        let with_statuses = op.statuses.is_some();
        waiters.push_back(Waiter { op: op_copy, question, with_statuses, answer });
        let full = if waiters.len() < max { Vec::new() } else { take_from(waiters, max) };
        Joined::Waits(receiver, full)
    }

    /// Takes the checks that have waited longest and whose callers still wait. If there are none, the key
    /// has no call under way any more.
    pub(super) fn take(&self, key: Hash, max: usize) -> Vec<Waiter<A>> {
        let Some(mut queues) = self.lock(key) else { return Vec::new() };
        let Some(waiters) = queues.get_mut(&key) else { return Vec::new() };
        let some = take_from(waiters, max);
        if some.is_empty() {
            queues.remove(&key);
        }
        some
    }

    fn lock(&self, key: Hash) -> Option<MutexGuard<'_, ByKey<A>>> {
        // No queue is ever left half changed.
        Some(self.shards.get(index_in(SHARDS, key))?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Takes the checks that have waited longest and whose callers still wait.
fn take_from<A>(waiters: &mut VecDeque<Waiter<A>>, max: usize) -> Vec<Waiter<A>> {
    let mut some = Vec::with_capacity(waiters.len().min(max));
    while some.len() < max
        && let Some(waiter) = waiters.pop_front()
    {
        if !waiter.answer.is_closed() {
            some.push(waiter);
        }
    }
    some
}
