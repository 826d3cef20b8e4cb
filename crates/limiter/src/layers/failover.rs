//! `failover`: an answer in time, whatever the store does.
//!
//! Every operation has a timeout. A store that fails again and again is left alone: the breaker opens, and a task
//! finds out now and then whether the store is back. What fails is answered by the failure mode of its policy.

mod breaker;
mod charging;
mod fallback;
mod recovery;
mod share;
mod uncharged;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use tollgate_core::storage::OpStorage as _;
use tollgate_core::{Act, Apply, Decision, Op, Store, StoreError, Time};

use super::node::Node;
use super::policies::{OnFailure, Policies};
use super::stats::Counter;
use super::subset;
use breaker::{Breaker, Permit};
use fallback::Fallback;

/// How long a store may take to answer, by default.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_millis(20);

/// A store that bounds how long another takes, and answers in its place if it fails.
pub(crate) struct Failover<S>(Arc<Shared<S>>);

struct Shared<S> {
    store: S,
    node: Node,
    breaker: Breaker,
    policies: Arc<Policies>,
    fallback: Fallback,
    /// Number of operations that the store did not answer.
    failures: Counter,
    /// Number of checks that were allowed, and that the store may have counted or not.
    unanswered: Counter,
    /// Why the store failed last; `None` if it has answered since.
    last_error: Mutex<Option<StoreError>>,
    /// Whether a task looks if the store is back.
    is_watched: AtomicBool,
    /// Whether a caller has gone away before the store answered, which may be why.
    is_suspected: AtomicBool,
}

impl<S: Store + 'static> Failover<S> {
    pub(crate) fn new(store: S, node: Node, policies: Arc<Policies>) -> Failover<S> {
        Failover(Arc::new(Shared {
            store,
            breaker: Breaker::new(),
            policies,
            fallback: Fallback::new(node.clone()),
            node,
            failures: Counter::default(),
            unanswered: Counter::default(),
            last_error: Mutex::default(),
            is_watched: AtomicBool::new(false),
            is_suspected: AtomicBool::new(false),
        }))
    }

    /// Returns the store behind it.
    pub(crate) fn store(&self) -> &S {
        &self.0.store
    }

    /// Returns the number of operations that the store did not answer.
    pub(crate) fn failures(&self) -> u64 {
        self.0.failures.get()
    }

    /// Returns the number of keys that the store is charged for when it is back.
    pub(crate) fn uncharged_keys(&self) -> usize {
        self.0.fallback.uncharged().len()
    }

    /// Returns the number of checks that were allowed without the store and that it is not charged for.
    pub(crate) fn lost(&self) -> u64 {
        self.0.fallback.uncharged().lost()
    }

    /// Returns the number of checks that were sent to the store, got no reply and were then allowed.
    pub(crate) fn unanswered(&self) -> u64 {
        self.0.unanswered.get()
    }

    /// Returns about how many bytes are taken by what was counted without the store.
    pub(crate) fn memory(&self) -> usize {
        self.0.fallback.memory()
    }

    /// Returns the number of nodes that share the store.
    pub(crate) fn nodes(&self) -> u32 {
        self.0.node.nodes
    }

    /// Returns whether the store is considered unavailable.
    pub(crate) fn is_open(&self) -> bool {
        self.0.breaker.is_open()
    }

    /// Returns why the store failed last; `None` if it has answered since.
    pub(crate) fn last_error(&self) -> Option<StoreError> {
        self.0.last_error().clone()
    }

    /// Notes that the store could not be reached.
    pub(crate) fn set_unavailable(&self, error: StoreError) {
        let Some(permit) = self.0.breaker.permit() else { return };
        self.0.fail(permit, error);
    }
}

impl<S: Store + 'static> Store for Failover<S> {
    fn apply<'a>(
        &'a self,
        ops: &'a [Op<'a>],
        at: Option<Time>,
        out: &'a mut [Result<Decision, StoreError>],
    ) -> Apply<'a> {
        let shared = &self.0;
        // These need no state, so that their answers would say nothing about the store.
        if !ops.iter().any(Op::touches_state) {
            for (op, out) in ops.iter().zip(out) {
                *out = shared.fallback.decide_without_state(op, at);
            }
            return Apply::Ready;
        }
        let Some(permit) = shared.breaker.permit() else {
            let error = shared.last_error().clone().unwrap_or_else(StoreError::unanswered);
            for (op, out) in ops.iter().zip(out) {
                *out = shared.answer_failed(op, at, &error, false);
            }
            shared.watch(ops);
            return Apply::Ready;
        };
        Apply::Pending(Box::pin(async move {
            let deadline = shared.node.deadline();
            let mut asked = Asked { shared, ops, is_answered: false };
            shared.ask(ops, at, out, deadline).await;
            shared.ask_again(ops, at, out, deadline).await;
            asked.is_answered = true;
            let is_available = shared.end(permit, ops, out);
            // Not only after a failure: an earlier attempt may have failed.
            if is_available {
                shared.spawn_recovery();
            }
            for (op, out) in ops.iter().zip(out) {
                match out {
                    Err(error) if is_failure(error) => {
                        let error = error.clone();
                        let may_be_done = !error.is_refused();
                        *out = shared.answer_failed(op, at, &error, may_be_done);
                    }
                    Ok(decision) => shared.fallback.remember(op, decision, &shared.policies),
                    Err(_) => {}
                }
            }
            if !is_available {
                shared.watch(ops);
            }
        }))
    }
}

/// Operations that the store was asked for. If their caller goes away before the answer, a task finds out whether the
/// store answers at all: callers that wait for less than the timeout would never notice an outage.
struct Asked<'a, S: Store + 'static> {
    shared: &'a Arc<Shared<S>>,
    ops: &'a [Op<'a>],
    is_answered: bool,
}

impl<S: Store + 'static> Drop for Asked<'_, S> {
    fn drop(&mut self) {
        if !self.is_answered {
            self.shared.is_suspected.store(true, Ordering::SeqCst);
            self.shared.watch(self.ops);
        }
    }
}

impl<S: Store + 'static> Shared<S> {
    fn last_error(&self) -> MutexGuard<'_, Option<StoreError>> {
        self.last_error.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes how the store has answered. Returns whether it is available.
    fn end(
        &self,
        permit: Permit<'_>,
        ops: &[Op<'_>],
        out: &[Result<Decision, StoreError>],
    ) -> bool {
        if let Some(error) = failure(out) {
            self.fail(permit, error);
            return false;
        }
        if permit.follows_failure() {
            // A store that is out of memory or read-only answers whatever it need not write.
            let refused = self.last_error().as_ref().is_some_and(StoreError::is_refused);
            if refused && !ops.iter().zip(out).any(has_written) {
                return false;
            }
            permit.succeeded();
            *self.last_error() = None;
        }
        true
    }

    /// Notes that the store has failed.
    fn fail(&self, permit: Permit<'_>, error: StoreError) {
        // In this order: a success that follows the failure clears the error.
        *self.last_error() = Some(error);
        permit.failed();
    }

    /// Asks the store. Operations that it does not answer in time fail.
    async fn ask(
        &self,
        ops: &[Op<'_>],
        at: Option<Time>,
        out: &mut [Result<Decision, StoreError>],
        deadline: Instant,
    ) {
        out.fill(Err(StoreError::unanswered()));
        let in_time = match self.store.apply(ops, at, out) {
            Apply::Ready => true,
            Apply::Pending(pending) => timeout_at(deadline, pending).await.is_ok(),
        };
        if !in_time {
            let error = StoreError::unavailable(format!("no reply within {:?}", self.node.timeout));
            let unanswered = |out: &&mut Result<_, StoreError>| {
                out.as_ref().is_err_and(StoreError::is_unanswered)
            };
            out.iter_mut().filter(unanswered).for_each(|out| *out = Err(error.clone()));
        }
    }

    /// Asks once more for operations that failed before the deadline, as when a connection broke. Only those
    /// with an id: it may be that they were done, and only the id keeps them from being done twice.
    async fn ask_again(
        &self,
        ops: &[Op<'_>],
        at: Option<Time>,
        out: &mut [Result<Decision, StoreError>],
        deadline: Instant,
    ) {
        let failed = |(index, (op, out)): (usize, (&Op<'_>, &Result<_, StoreError>))| {
            (op.id.is_some() && out.as_ref().is_err_and(is_failure)).then_some(index)
        };
        let indexes: Vec<usize> = ops.iter().zip(&*out).enumerate().filter_map(failed).collect();
        if indexes.is_empty() || Instant::now() >= deadline {
            return;
        }
        let some = subset::pick(ops, indexes.iter().copied());
        let mut results = subset::unanswered(&some);
        self.ask(&some, at, &mut results, deadline).await;
        subset::put_back(indexes.into_iter(), results, out);
    }

    /// Answers an operation that the store did not answer, but may have done.
    #[cold]
    fn answer_failed(
        &self,
        op: &Op<'_>,
        at: Option<Time>,
        error: &StoreError,
        may_be_done: bool,
    ) -> Result<Decision, StoreError> {
        if !op.touches_state() {
            return self.fallback.decide_without_state(op, at);
        }
        self.failures.add(1);
        let on_failure = self.policies.get(op.policy).on_failure;
        let may_decide = matches!(op.act, Act::Check | Act::Peek)
            && !op.items.iter().any(|item| item.limit.gives_leases());
        if on_failure == OnFailure::Deny || !may_decide {
            return Err(error.clone());
        }
        let decision = self.fallback.decide(op, at, on_failure, !may_be_done)?;
        if may_be_done && decision.allowed && op.act == Act::Check {
            self.unanswered.add(1);
        }
        Ok(decision)
    }
}

/// Returns whether an error means that the store did not answer. An overdrawn debt is an answer.
fn is_failure(error: &StoreError) -> bool {
    error.is_unavailable() || error.is_unanswered()
}

/// Returns whether the store has certainly written something for this operation.
fn has_written((op, out): (&Op<'_>, &Result<Decision, StoreError>)) -> bool {
    match op.act {
        Act::Check => op.has_cost() && out.as_ref().is_ok_and(|decision| decision.allowed),
        Act::Charge => op.has_cost() && out.is_ok(),
        _ => false,
    }
}

/// Returns why the store failed, if it did. That something was not sent is less of a reason than that something was
/// not answered.
fn failure(out: &[Result<Decision, StoreError>]) -> Option<StoreError> {
    let failures = || out.iter().filter_map(|out| out.as_ref().err()).filter(|it| is_failure(it));
    failures().find(|error| !error.is_refused()).or_else(|| failures().next_back()).cloned()
}
