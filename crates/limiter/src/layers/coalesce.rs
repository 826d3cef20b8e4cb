//! `coalesce`: checks of one key that wait at the same moment become one call.
//!
//! The first check of a key goes to the store at once. Those that arrive until it is answered wait, and then
//! go together, in the order of their arrival, in one call that decides each of them with its own cost and
//! id. The answers are exact: the store decides every one.
//!
//! As soon as as many wait as one call takes, they are sent. So a check waits for one call at most before its
//! own, whatever the rate of the key: a healthy store never seems to be slow because a key is hot. Nor because a
//! caller has stopped polling its check: those that have waited for long are sent beside it.

mod queue;
mod stalled;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tollgate_core::{
    Act, Apply, Decision, LimitStatus, LimitStatuses, MAX_COALESCED, Op, Store, StoreError, Time,
};

use super::hash::{Hash, Secret};
use super::owned_op::Items;
use super::stats::Counter;
use queue::{Joined, Queues, Waiter};

/// A store that joins waiting checks of one key into one call.
pub(crate) struct Coalesce<S>(Arc<Shared<S>>);

struct Shared<S> {
    store: S,
    queues: Queues<Answer>,
    secret: Secret,
    /// How long a call may take; its callers have given up by then.
    timeout: Duration,
    /// Number of checks that went with others.
    joined: Counter,
    /// Number of calls that this saved.
    saved: Counter,
    /// Whether a task looks for checks that have waited for long.
    is_watched: AtomicBool,
}

/// What a waiter gets: the result, and the status of each limit if it asked for it.
struct Answer {
    result: Result<Decision, StoreError>,
    statuses: Vec<LimitStatus>,
}

impl<S: Store + 'static> Coalesce<S> {
    /// `timeout` is how long a caller waits at most.
    pub(crate) fn new(store: S, secret: Secret, timeout: Duration) -> Coalesce<S> {
        let (joined, saved) = (Counter::default(), Counter::default());
        let (queues, is_watched) = (Queues::default(), AtomicBool::new(false));
        Coalesce(Arc::new(Shared { store, queues, secret, timeout, joined, saved, is_watched }))
    }

    /// Returns the number of checks that went together with others.
    pub(crate) fn joined(&self) -> u64 {
        self.0.joined.get()
    }

    /// Returns the number of calls that this saved.
    pub(crate) fn saved(&self) -> u64 {
        self.0.saved.get()
    }

    /// Waits for the answer of a check that was queued.
    async fn wait(
        waiter: oneshot::Receiver<Answer>,
        op: &Op<'_>,
        out: &mut Result<Decision, StoreError>,
    ) {
        let Ok(Answer { result, statuses }) = waiter.await else {
            *out = Err(StoreError::unavailable("the runtime of the call has stopped"));
            return;
        };
        if result.is_ok() && !statuses.is_empty() {
            op.report(statuses);
        }
        *out = result;
    }
}

impl<S: Store + 'static> Store for Coalesce<S> {
    fn apply<'a>(
        &'a self,
        ops: &'a [Op<'a>],
        at: Option<Time>,
        out: &'a mut [Result<Decision, StoreError>],
    ) -> Apply<'a> {
        let shared = &self.0;
        let ([op], 1, None) = (ops, out.len(), at) else { return shared.store.apply(ops, at, out) };
        if op.act != Act::Check {
            return shared.store.apply(ops, at, out);
        }
        // The next call of the key is sent by a task, which needs a runtime.
        let Ok(runtime) = Handle::try_current() else { return shared.store.apply(ops, at, out) };
        if !shared.store.joins(op) {
            return shared.store.apply(ops, at, out);
        }
        let key = shared.secret.key(op);
        let hash = key.whole();
        let joined =
            shared.queues.join(hash, op, MAX_COALESCED, || shared.secret.question(&key, op));
        if let Joined::Waits(waiter, full) = joined {
            shared.joined.add(1);
            shared.send_now(full, &runtime);
            shared.watch(&runtime);
            let [out] = out else { return Apply::Ready };
            return Apply::Pending(Box::pin(Self::wait(waiter, op, out)));
        }
        let turn = Turn { shared: Arc::clone(shared), hash, runtime };
        Apply::Pending(Box::pin(async move {
            if let Apply::Pending(pending) = shared.store.apply(ops, at, out) {
                pending.await;
            }
            drop(turn);
        }))
    }
}

impl<S: Store + 'static> Shared<S> {
    /// Sends some checks beside the call that is under way.
    fn send_now(self: &Arc<Self>, waiters: Vec<Waiter<Answer>>, runtime: &Handle) {
        if !waiters.is_empty() {
            let shared = Arc::clone(self);
            runtime.spawn(async move { send(&shared, waiters).await });
        }
    }
}

/// The turn of one call on a key. When it ends, however it ends, those that wait meanwhile are sent.
struct Turn<S: Store + 'static> {
    shared: Arc<Shared<S>>,
    hash: Hash,
    runtime: Handle,
}

impl<S: Store + 'static> Drop for Turn<S> {
    fn drop(&mut self) {
        let waiters = self.shared.queues.take(self.hash, MAX_COALESCED);
        if !waiters.is_empty() {
            let (shared, runtime) = (Arc::clone(&self.shared), self.runtime.clone());
            Turn { shared, hash: self.hash, runtime }.spawn(waiters);
        }
    }
}

impl<S: Store + 'static> Turn<S> {
    /// Sends some checks in a task.
    fn spawn(self, waiters: Vec<Waiter<Answer>>) {
        self.runtime.clone().spawn(async move {
            send(&self.shared, waiters).await;
            drop(self);
        });
    }
}

/// Sends some checks in one call, and answers each.
async fn send<S: Store>(shared: &Shared<S>, waiters: Vec<Waiter<Answer>>) {
    shared.saved.add(waiters.len().saturating_sub(1) as u64);
    let mut out = vec![Err(StoreError::unanswered()); waiters.len()];
    let statuses: Vec<LimitStatuses> = waiters.iter().map(|_| LimitStatuses::default()).collect();
    let items: Vec<Items<'_>> = waiters.iter().map(|waiter| waiter.op.items()).collect();
    let ops = waiters.iter().zip(&items).zip(&statuses).map(|((waiter, items), statuses)| {
        let mut op = waiter.op.op(items);
        op.statuses = waiter.with_statuses.then_some(statuses);
        op
    });
    let ops: Vec<Op<'_>> = ops.collect();
    if let Apply::Pending(pending) = shared.store.apply(&ops, None, &mut out) {
        // All callers have gone by then: they have waited for longer. Without a bound, a call that is never
        // answered would block the key for ever.
        let _ = timeout(shared.timeout, pending).await;
    }
    drop(ops);
    drop(items);
    for ((waiter, result), statuses) in waiters.into_iter().zip(out).zip(&statuses) {
        // A caller that has gone meanwhile needs no answer.
        let _ = waiter.answer.send(Answer { result, statuses: statuses.to_vec() });
    }
}
