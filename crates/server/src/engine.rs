//! What stands behind every protocol: the policies by their names, and the store that counts.

pub(crate) mod active_policy;
pub(crate) mod operation;
pub(crate) mod policies;
pub(crate) mod required_keys;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::{ArcSwap, Guard};
use smallvec::SmallVec;
use tollgate::{Clock, MemoryStore, StoreStats};
use tollgate_core::{Act, Apply, Decision, Item, Op, Span, Store, StoreError, Time};

use crate::config::PolicyConfig;
use crate::host::connection_limit::ConnectionLimit;
use crate::host::log_throttle::LogThrottle;
use crate::metrics::{Latency, Outcome, OutcomeCounters, Reloads};
use operation::{CandidateOperation, Operation};
use policies::Policies;

/// What one operation was answered.
pub(crate) type Answer = Result<Decision, StoreError>;

/// One is by far the most common number of operations that come together.
pub(crate) type Answers = SmallVec<[Answer; 1]>;

/// Where states are kept.
pub(crate) struct StoreHandle {
    store: Arc<dyn Store>,
    /// The same, if it is in memory.
    memory: Option<Arc<MemoryStore>>,
    clock: Clock,
}

impl StoreHandle {
    pub(crate) fn memory(store: Arc<MemoryStore>) -> StoreHandle {
        let clock = store.clock().clone();
        StoreHandle { store: Arc::<MemoryStore>::clone(&store), memory: Some(store), clock }
    }

    pub(crate) fn far(store: Arc<dyn Store>) -> StoreHandle {
        StoreHandle { store, memory: None, clock: Clock::system() }
    }
}

/// The connections of each protocol.
#[derive(Debug, Default, Clone)]
pub(crate) struct OpenConnections {
    pub(crate) resp: Arc<ConnectionLimit>,
    pub(crate) http: Arc<ConnectionLimit>,
}

impl OpenConnections {
    /// Each with the name of its protocol.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, &ConnectionLimit)> {
        [("resp", &*self.resp), ("http", &*self.http)].into_iter()
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("threads", &self.threads).finish_non_exhaustive()
    }
}

/// Answers operations, whatever protocol they came by.
pub(crate) struct Engine {
    store: StoreHandle,
    /// Whether the store could be reached when it was last asked.
    is_up: AtomicBool,
    /// When that was last told.
    reports: LogThrottle,
    policies: ArcSwap<Policies>,
    threads: usize,
    /// What became of operations that brought their limits along.
    pub(crate) inline: OutcomeCounters,
    pub(crate) latency: Latency,
    pub(crate) reloads: Reloads,
    pub(crate) open: OpenConnections,
}

impl Engine {
    pub(crate) fn new(store: StoreHandle, policies: Vec<PolicyConfig>, threads: usize) -> Engine {
        let policies = Policies::new(policies, &Policies::default(), threads);
        Engine {
            store,
            is_up: AtomicBool::new(true),
            reports: LogThrottle::default(),
            policies: ArcSwap::from_pointee(policies),
            threads,
            inline: OutcomeCounters::new(threads),
            latency: Latency::new(threads),
            reloads: Reloads::default(),
            open: OpenConnections::default(),
        }
    }

    /// The policies as they are now, and stay for whoever has asked.
    pub(crate) fn policies(&self) -> Guard<Arc<Policies>> {
        self.policies.load()
    }

    /// What time it is where states are kept, or here.
    pub(crate) fn now(&self) -> Time {
        self.store.clock.now()
    }

    /// How full the memory is, if that is where states are kept.
    pub(crate) fn stats(&self) -> Option<StoreStats> {
        self.store.memory.as_ref().map(|memory| memory.stats())
    }

    pub(crate) fn is_store_up(&self) -> bool {
        self.is_up.load(Ordering::Relaxed)
    }

    /// Puts other policies in place of all current ones, at once.
    pub(crate) fn set_policies(&self, policies: &[PolicyConfig]) {
        self.policies.rcu(|before| Policies::new(policies.iter().cloned(), before, self.threads));
    }

    /// Answers operations for one of the threads, in their order and in one call of the store.
    pub(crate) async fn answer<'o, 'a: 'o>(
        &self,
        worker_id: usize,
        operations: impl Iterator<Item = &'o Operation<'a>> + Clone,
    ) -> Answers {
        let expected = operations.size_hint().1.unwrap_or_default();
        let mut items: SmallVec<[Item<'_>; 1]> = SmallVec::with_capacity(expected);
        // Candidates come after all that is asked, so that they can be cut off.
        let mut candidates: Vec<CandidateOperation<'_, '_>> = Vec::new();
        let mut asked = 0;
        for operation in operations.clone() {
            operation.items().for_each(|item| items.push(item));
            candidates.extend(operation.candidate());
            asked += 1;
        }
        if asked == 0 {
            return Answers::new();
        }
        items.extend(candidates.iter().flat_map(|candidate| candidate.items()));
        let mut left = items.as_slice();
        let mut take = |count| {
            let (own, others) = left.split_at_checked(count).unwrap_or_default();
            left = others;
            own
        };
        let mut ops: SmallVec<[Op<'_>; 1]> = SmallVec::with_capacity(asked);
        operations.clone().for_each(|operation| ops.push(operation.op(take(operation.len()))));
        ops.extend(candidates.iter().map(|candidate| candidate.op(take(candidate.len()))));
        let mut said: Answers = ops.iter().map(|_| Err(StoreError::unanswered())).collect();
        self.apply(worker_id, &ops, &mut said).await;
        if !candidates.is_empty() {
            self.compare(worker_id, operations.clone(), &said, asked);
            said.truncate(asked);
        }
        for (operation, answer) in operations.zip(&mut said) {
            self.settle(worker_id, operation, answer);
        }
        said
    }

    /// Answers one operation, as [`answer`](Engine::answer) does many.
    pub(crate) async fn answer_alone(&self, worker_id: usize, operation: &Operation<'_>) -> Answer {
        let mut answer = Err(StoreError::unanswered());
        if operation.candidate().is_some() {
            return self
                .answer(worker_id, std::iter::once(operation))
                .await
                .pop()
                .unwrap_or(answer);
        }
        let items: SmallVec<[Item<'_>; 1]> = operation.items().collect();
        self.apply(worker_id, &[operation.op(&items)], std::slice::from_mut(&mut answer)).await;
        self.settle(worker_id, operation, &mut answer);
        answer
    }

    async fn apply(&self, worker_id: usize, ops: &[Op<'_>], out: &mut [Answer]) {
        let begin = self.latency.begin(worker_id, self.store.memory.is_none());
        if let Apply::Pending(later) = self.store.store.apply(ops, None, out) {
            later.await;
        }
        if let Some(begin) = begin {
            self.latency.add(worker_id, begin.elapsed());
        }
        let is_up = !out.iter().any(|said| said.as_ref().is_err_and(StoreError::is_unavailable));
        if self.is_up.load(Ordering::Relaxed) != is_up {
            self.note(is_up, ops, out);
        }
    }

    /// Notes that the store is gone, or back; and tells it, but not too often where that changes all the
    /// time.
    #[cold]
    fn note(&self, is_up: bool, ops: &[Op<'_>], said: &[Answer]) {
        // What it need not be asked for says nothing of it.
        let is_of_store = |(op, said): (&Op<'_>, &Answer)| op.touches_state() && said.is_ok();
        if is_up && !ops.iter().zip(said).any(is_of_store) {
            return;
        }
        self.is_up.store(is_up, Ordering::Relaxed);
        match is_up {
            _ if !self.reports.is_time() => {}
            true => tracing::info!("the store answers again"),
            false => tracing::error!("the store does not answer"),
        }
    }

    /// Counts where candidates say otherwise.
    fn compare<'o, 'a: 'o>(
        &self,
        worker_id: usize,
        operations: impl Iterator<Item = &'o Operation<'a>>,
        said: &[Answer],
        asked: usize,
    ) {
        let (own, beside) = said.split_at_checked(asked).unwrap_or_default();
        let pairs = operations.zip(own).filter(|(operation, _)| operation.candidate().is_some());
        for ((operation, own), beside) in
            pairs.zip(beside).filter(|((operation, _), _)| is_decision(operation))
        {
            let (Ok(own), Ok(beside)) = (own, beside) else { continue };
            match (own.allowed, beside.allowed) {
                (true, false) => self.counts(operation).add(worker_id, Outcome::Stricter),
                (false, true) => self.counts(operation).add(worker_id, Outcome::Looser),
                _ => 0,
            };
        }
    }

    /// What the limits said becomes what is answered, and is counted.
    #[inline]
    fn settle(&self, worker_id: usize, operation: &Operation<'_>, answer: &mut Answer) {
        let outcome = match answer {
            // That is the caller's mistake.
            Err(error) if error.is_overdrawn() || error.is_malformed() => return,
            Err(_) => Outcome::Failed,
            Ok(decision) if decision.allowed => Outcome::Allowed,
            Ok(_) if operation.is_enforced() => Outcome::Denied,
            Ok(decision) => {
                let_pass(decision);
                Outcome::ShadowDenied
            }
        };
        if !is_decision(operation) {
            return;
        }
        let times = self.counts(operation).add(worker_id, outcome);
        // The first, the second, the fourth: a flood of denials is no flood of lines.
        if outcome == Outcome::Denied && times.is_power_of_two() {
            log_denial(operation, times);
        }
    }

    fn counts<'c>(&'c self, operation: &'c Operation<'_>) -> &'c OutcomeCounters {
        operation.policy().map_or(&self.inline, |policy| policy.counts().as_ref())
    }
}

/// Whether someone is let pass or turned away; only this is counted.
fn is_decision(operation: &Operation<'_>) -> bool {
    matches!(operation.act(), Act::Check | Act::Reserve)
}

/// Whom it was that is not told: keys are people.
#[cold]
fn log_denial(operation: &Operation<'_>, times: u64) {
    tracing::info!(policy = operation.policy_name().as_str(), denied = times, "turned away");
}

/// Whoever is not to be turned away may pass, and has nothing to wait for.
#[cold]
fn let_pass(decision: &mut Decision) {
    decision.allowed = true;
    decision.retry_after = Some(Span::ZERO);
}
