//! Who waits, and for what.

use std::collections::{BTreeMap, HashMap};
use std::mem::{swap, take};
use std::slice::from_ref;
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use smallvec::SmallVec;
use tollgate_core::storage::Scope;
use tollgate_core::{Act, Item, Op};

/// Everyone who waits at a store. A queue is there only while someone stands in it.
#[derive(Default)]
pub(crate) struct Queues {
    /// Those who wait for their turn, by policy and all subjects.
    turns: Waiting,
    /// Those whose turn it is, by policy and each of their subjects: others may share only one.
    returns: Waiting,
}

impl Queues {
    /// Tells those who wait for any of its subjects that the operation gave something back.
    #[inline]
    pub(crate) fn tell(&self, op: &Op<'_>) {
        let gives = matches!(op.act, Act::Release | Act::Refund | Act::Settle | Act::Reset);
        if gives && !self.returns.is_empty() {
            op.items.iter().for_each(|item| self.returns.call(&whose(op, from_ref(item))));
        }
    }

    /// Whether others wait for the same.
    pub(crate) fn is_waited_for(&self, op: &Op<'_>) -> bool {
        !self.turns.is_empty() && self.turns.has(&whose(op, op.items))
    }

    /// Takes the last place in its queue.
    pub(crate) fn join(&self, op: &Op<'_>) -> Place<'_> {
        self.turns.join(whose(op, op.items))
    }

    /// Whether nobody waits for anything.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        [&self.turns, &self.returns]
            .iter()
            .all(|w| w.is_empty() && w.locked(|q| q.queues.is_empty()))
    }

    /// How many wait, all in all.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.turns.locked(|queues| queues.queues.values().map(BTreeMap::len).sum())
    }

    /// Places that are called when something is given back that the operation may take.
    pub(crate) fn watch(&self, op: &Op<'_>) -> SmallVec<[Place<'_>; 2]> {
        op.items.iter().map(|item| self.returns.join(whose(op, from_ref(item)))).collect()
    }
}

/// What a queue goes by. The core gives a scope to every operation that we ask it for.
type Whose = Option<Scope>;

/// A policy and these of its subjects.
fn whose(op: &Op<'_>, items: &[Item<'_>]) -> Whose {
    // A reset has a scope also without an id.
    Op { items, act: Act::Reset, ..*op }.id_scope()
}

/// Queues of those who wait for one kind of thing.
#[derive(Default)]
struct Waiting {
    queues: Mutex<ByName>,
    /// How many queues there are. Whoever finds none need not lock.
    count: AtomicUsize,
}

#[derive(Default)]
struct ByName {
    /// None is empty.
    queues: HashMap<Whose, Queue>,
    next: u64,
}

/// Those who wait, by the numbers they drew.
type Queue = BTreeMap<u64, Waiter>;

struct Waiter {
    waker: Waker,
    called: bool,
}

impl Waiting {
    /// Whether nobody waits.
    ///
    /// Whoever has given something back may ask this without the lock. One of the two sees the other:
    /// who waits took the place before asking the store, who gives asks here after giving, and
    /// between the two steps each has a fence.
    #[inline]
    fn is_empty(&self) -> bool {
        fence(Ordering::SeqCst);
        self.count.load(Ordering::Relaxed) == 0
    }

    fn has(&self, name: &Whose) -> bool {
        self.locked(|queues| queues.queues.contains_key(name))
    }

    fn join(&self, name: Whose) -> Place<'_> {
        let number = self.locked(|queues| queues.join(name.clone()));
        fence(Ordering::SeqCst);
        Place { waiting: self, name, number }
    }

    /// Wakes all who wait for that.
    fn call(&self, name: &Whose) {
        self.locked(|queues| queues.call(name)).into_iter().for_each(Waker::wake);
    }

    /// What is to be woken or dropped must be answered: both run code of strangers, which may come
    /// back here, and must find the lock free.
    fn locked<T>(&self, change: impl FnOnce(&mut ByName) -> T) -> T {
        // It is never left half changed, so a panic elsewhere is no reason to stop.
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = change(&mut queues);
        self.count.store(queues.queues.len(), Ordering::Relaxed);
        answer
    }
}

impl ByName {
    fn join(&mut self, name: Whose) -> u64 {
        let number = self.next;
        self.next = number.wrapping_add(1);
        let waiter = Waiter { waker: Waker::noop().clone(), called: false };
        self.queues.entry(name).or_default().insert(number, waiter);
        number
    }

    fn call(&mut self, name: &Whose) -> Vec<Waker> {
        let called = |waiter: &mut Waiter| {
            waiter.called = true;
            waiter.waker.clone()
        };
        let queue = self.queues.get_mut(name);
        queue.map_or_else(Vec::new, |queue| queue.values_mut().map(called).collect())
    }

    /// Who left, and who is first now because of that.
    fn leave(&mut self, name: &Whose, number: u64) -> (Option<Waiter>, Option<Waker>) {
        let Some(queue) = self.queues.get_mut(name) else { return (None, None) };
        let was_first = is_first(queue, number);
        let left = queue.remove(&number);
        let next = queue.values().next().filter(|_| was_first).map(|next| next.waker.clone());
        if queue.is_empty() {
            self.queues.remove(name);
        }
        (left, next)
    }
}

fn is_first(queue: &Queue, number: u64) -> bool {
    queue.keys().next() == Some(&number)
}

/// A place in a queue, given up when it is dropped.
pub(crate) struct Place<'a> {
    waiting: &'a Waiting,
    name: Whose,
    number: u64,
}

impl Place<'_> {
    /// Ready when nobody stands before it.
    pub(crate) fn poll_first(&self, context: &Context<'_>) -> Poll<()> {
        self.poll(context, |queue| is_first(queue, self.number))
    }

    /// Ready when it was called since it was last ready.
    pub(crate) fn poll_called(&self, context: &Context<'_>) -> Poll<()> {
        self.poll(context, |queue| {
            queue.get_mut(&self.number).is_some_and(|waiter| take(&mut waiter.called))
        })
    }

    fn poll(&self, context: &Context<'_>, ready: impl FnOnce(&mut Queue) -> bool) -> Poll<()> {
        let mut waker = context.waker().clone();
        let ready = self.waiting.locked(|queues| {
            let queue = queues.queues.get_mut(&self.name)?;
            if let Some(waiter) = queue.get_mut(&self.number) {
                swap(&mut waiter.waker, &mut waker);
            }
            Some(ready(queue))
        });
        if ready == Some(true) { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let (_, next) = self.waiting.locked(|queues| queues.leave(&self.name, self.number));
        if let Some(next) = next {
            next.wake();
        }
    }
}
