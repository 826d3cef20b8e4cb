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

type ByKey<A> = HashMap<Hash, Queue<A>, BuildHasherDefault<Identity>>;

struct Queue<A> {
    waiters: VecDeque<Waiter<A>>,
    /// Whether its first waiter was seen waiting before.
    was_seen: bool,
}

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
        let queue = match queues.entry(key) {
            Entry::Vacant(free) => {
                free.insert(Queue { waiters: VecDeque::new(), was_seen: false });
                return Joined::First;
            }
            Entry::Occupied(queue) => queue.into_mut(),
        };
        let waiter = queue.push(op, op.id.is_none().then(question));
        let full = if queue.waiters.len() < max { Vec::new() } else { queue.take(max) };
        Joined::Waits(waiter, full)
    }

    /// Takes the checks of each key that have been waiting since the last time.
    pub(super) fn take_stalled(&self, max: usize) -> Vec<(Hash, Vec<Waiter<A>>)> {
        let mut stalled = Vec::new();
        for shard in &self.shards {
            for (key, queue) in &mut *lock(shard) {
                let was_seen = std::mem::replace(&mut queue.was_seen, !queue.waiters.is_empty());
                let waiters = if was_seen { queue.take(max) } else { Vec::new() };
                if !waiters.is_empty() {
                    stalled.push((*key, waiters));
                }
            }
        }
        stalled
    }

    /// Returns whether no check waits.
    pub(super) fn is_empty(&self) -> bool {
        let has_none = |shard: &Shard<A>| lock(shard).values().all(|it| it.waiters.is_empty());
        self.shards.iter().all(has_none)
    }

    /// Takes the checks that have waited longest and whose callers still wait. If there are none, the key
    /// has no call under way any more.
    pub(super) fn take(&self, key: Hash, max: usize) -> Vec<Waiter<A>> {
        let Some(mut queues) = self.lock(key) else { return Vec::new() };
        let Some(queue) = queues.get_mut(&key) else { return Vec::new() };
        let some = queue.take(max);
        if some.is_empty() {
            queues.remove(&key);
        }
        some
    }

    fn lock(&self, key: Hash) -> Option<MutexGuard<'_, ByKey<A>>> {
        Some(lock(self.shards.get(index_in(SHARDS, key))?))
    }
}

fn lock<A>(shard: &Shard<A>) -> MutexGuard<'_, ByKey<A>> {
    // No queue is ever left half changed.
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<A> Queue<A> {
    /// Adds a check. Equal checks share a copy of their operation.
    fn push(&mut self, op: &Op<'_>, question: Option<Hash>) -> oneshot::Receiver<A> {
        let last = self.waiters.back();
        let last = last.filter(|last| question.is_some() && last.question == question);
        let op_copy = last.map_or_else(|| Arc::new(OwnedOp::new(op)), |last| Arc::clone(&last.op));
        let (answer, receiver) = oneshot::channel();
        let with_statuses = op.statuses.is_some();
        self.waiters.push_back(Waiter { op: op_copy, question, with_statuses, answer });
        receiver
    }

    /// Takes the checks that have waited longest and whose callers still wait.
    fn take(&mut self, max: usize) -> Vec<Waiter<A>> {
        let mut some = Vec::with_capacity(self.waiters.len().min(max));
        while some.len() < max
            && let Some(waiter) = self.waiters.pop_front()
        {
            if !waiter.answer.is_closed() {
                some.push(waiter);
            }
        }
        self.was_seen = false;
        some
    }
}
