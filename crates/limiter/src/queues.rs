//! Queues of callers that wait for a check to pass.

use std::collections::{BTreeMap, HashMap};
use std::mem::{swap, take};
use std::slice::from_ref;
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use smallvec::SmallVec;
use tollgate_core::storage::{OpStorage as _, Scope};
use tollgate_core::{Act, Item, Op};

/// All callers that wait on a store. A queue exists only while it has waiters.
#[derive(Default)]
pub(crate) struct Queues {
    /// Callers that wait for their turn, by policy and all subjects.
    turns: QueueMap,
    /// Callers that are first and wait until something is given back, by policy and each of their
    /// subjects: other callers may share only one of them.
    returns: QueueMap,
}

impl Queues {
    /// Notifies the callers that wait for any subject of the operation, if it gives something back.
    #[inline]
    pub(crate) fn notify(&self, op: &Op<'_>) {
        let gives = matches!(op.act, Act::Release | Act::Refund | Act::Settle | Act::Reset);
        if gives && !self.returns.is_empty() {
            op.items.iter().for_each(|item| self.returns.notify(&queue_key(op, from_ref(item))));
        }
    }

    /// Returns whether callers wait for the same subjects.
    pub(crate) fn has_queue(&self, op: &Op<'_>) -> bool {
        !self.turns.is_empty() && self.turns.has(&queue_key(op, op.items))
    }

    /// Joins the end of the operation's queue.
    pub(crate) fn join(&self, op: &Op<'_>) -> Waiter<'_> {
        self.turns.join(queue_key(op, op.items))
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        [&self.turns, &self.returns]
            .iter()
            .all(|map| map.is_empty() && map.locked(|inner| inner.queues.is_empty()))
    }

    /// Returns the number of callers in all queues.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.turns.locked(|inner| inner.queues.values().map(BTreeMap::len).sum())
    }

    /// Returns waiters that are notified when something is given back that the operation may take.
    pub(crate) fn watch(&self, op: &Op<'_>) -> SmallVec<[Waiter<'_>; 2]> {
        op.items.iter().map(|item| self.returns.join(queue_key(op, from_ref(item)))).collect()
    }
}

/// The key of a queue. The core gives a scope to every operation that is passed here.
type QueueKey = Option<Scope>;

/// Returns the key for a policy and these of its subjects.
fn queue_key(op: &Op<'_>, items: &[Item<'_>]) -> QueueKey {
    // A reset has a scope also without an id.
    op.with_act(Act::Reset).with_items(items).id_scope()
}

/// Queues by their keys.
#[derive(Default)]
struct QueueMap {
    inner: Mutex<Inner>,
    /// Number of queues. If it is zero, the lock is not needed.
    count: AtomicUsize,
}

#[derive(Default)]
struct Inner {
    /// No queue in it is empty.
    queues: HashMap<QueueKey, Queue>,
    next_ticket: u64,
}

/// The callers in a queue, by their tickets.
type Queue = BTreeMap<u64, Entry>;

struct Entry {
    waker: Waker,
    notified: bool,
}

impl QueueMap {
    /// Returns whether there are no queues.
    ///
    /// A caller that has given something back may call this without the lock. One of the two sees the
    /// other: the waiter joins its queue before it checks, the giver reads the count after it has
    /// given, and each has a fence between the two steps.
    #[inline]
    fn is_empty(&self) -> bool {
        fence(Ordering::SeqCst);
        self.count.load(Ordering::Relaxed) == 0
    }

    fn has(&self, key: &QueueKey) -> bool {
        self.locked(|inner| inner.queues.contains_key(key))
    }

    fn join(&self, key: QueueKey) -> Waiter<'_> {
        let ticket = self.locked(|inner| inner.join(key.clone()));
        fence(Ordering::SeqCst);
        Waiter { map: self, key, ticket }
    }

    /// Wakes all callers in a queue.
    fn notify(&self, key: &QueueKey) {
        self.locked(|inner| inner.notify(key)).into_iter().for_each(Waker::wake);
    }

    /// Runs `change` under the lock. Wakers to wake or drop must be returned from it: both run foreign
    /// code, which may call back into these queues, and must find the lock free.
    fn locked<T>(&self, change: impl FnOnce(&mut Inner) -> T) -> T {
        // The queues are never left half changed, so a panic elsewhere is no reason to stop.
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let result = change(&mut inner);
        self.count.store(inner.queues.len(), Ordering::Relaxed);
        result
    }
}

impl Inner {
    fn join(&mut self, key: QueueKey) -> u64 {
        let ticket = self.next_ticket;
        self.next_ticket = ticket.wrapping_add(1);
        let entry = Entry { waker: Waker::noop().clone(), notified: false };
        self.queues.entry(key).or_default().insert(ticket, entry);
        ticket
    }

    fn notify(&mut self, key: &QueueKey) -> Vec<Waker> {
        let notified = |entry: &mut Entry| {
            entry.notified = true;
            entry.waker.clone()
        };
        let queue = self.queues.get_mut(key);
        queue.map_or_else(Vec::new, |queue| queue.values_mut().map(notified).collect())
    }

    /// Removes a caller. Returns its entry, and the waker of the caller that is first because of that.
    fn leave(&mut self, key: &QueueKey, ticket: u64) -> (Option<Entry>, Option<Waker>) {
        let Some(queue) = self.queues.get_mut(key) else { return (None, None) };
        let was_first = is_first(queue, ticket);
        let left = queue.remove(&ticket);
        let next = queue.values().next().filter(|_| was_first).map(|next| next.waker.clone());
        if queue.is_empty() {
            self.queues.remove(key);
        }
        (left, next)
    }
}

fn is_first(queue: &Queue, ticket: u64) -> bool {
    queue.keys().next() == Some(&ticket)
}

/// A caller in a queue. It leaves the queue when dropped.
pub(crate) struct Waiter<'a> {
    map: &'a QueueMap,
    key: QueueKey,
    ticket: u64,
}

impl Waiter<'_> {
    /// Is ready when the caller is first in its queue.
    pub(crate) fn poll_first(&self, context: &Context<'_>) -> Poll<()> {
        self.poll(context, |queue| is_first(queue, self.ticket))
    }

    /// Is ready when the caller was notified since this was last ready.
    pub(crate) fn poll_notified(&self, context: &Context<'_>) -> Poll<()> {
        self.poll(context, |queue| {
            queue.get_mut(&self.ticket).is_some_and(|entry| take(&mut entry.notified))
        })
    }

    fn poll(&self, context: &Context<'_>, ready: impl FnOnce(&mut Queue) -> bool) -> Poll<()> {
        let mut waker = context.waker().clone();
        let ready = self.map.locked(|inner| {
            let queue = inner.queues.get_mut(&self.key)?;
            if let Some(entry) = queue.get_mut(&self.ticket) {
                swap(&mut entry.waker, &mut waker);
            }
            Some(ready(queue))
        });
        if ready == Some(true) { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let (_, next) = self.map.locked(|inner| inner.leave(&self.key, self.ticket));
        if let Some(next) = next {
            next.wake();
        }
    }
}
