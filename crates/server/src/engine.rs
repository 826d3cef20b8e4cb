//! What answers operations, whatever protocol they arrived by: the policies by name, and the store.

pub(crate) mod active_policy;
mod compact_request;
pub(crate) mod counts;
pub(crate) mod latency;
pub(crate) mod operation;
mod overrides;
pub(crate) mod policies;
pub(crate) mod probe;
mod store;
mod wall_clock;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::{ArcSwap, Guard};
use smallvec::SmallVec;
use tokio::time::{Instant, timeout_at};
use tollgate::StoreStats;
use tollgate::layers::{LayerStats, LayeredStore};
use tollgate_core::{Act, Decision, Item, Op, RequestError, Span, StoreError, Time, apply_one};

use crate::config::PolicyConfig;
use active_policy::ActivePolicy;
use counts::{Outcome, OutcomeCounters, Reloads, SourceCounters};
use latency::Latency;
use operation::{CandidateOperation, Operation};
use policies::Policies;
pub(crate) use store::{StoreHandle, is_unavailable};
use wall_clock::WallClockLog;

/// How often it is looked up whether the store has become unavailable or available, and the wall clock wrong.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);

/// The answer to one operation.
pub(crate) type Answer = Result<Decision, StoreError>;

/// By far most often one operation arrives at a time.
pub(crate) type Answers = SmallVec<[Answer; 1]>;

/// Answers operations.
pub(crate) struct Engine {
    store: StoreHandle,
    policies: ArcSwap<Policies>,
    threads: usize,
    /// Counts operations that brought their limits along.
    pub(crate) inline: OutcomeCounters,
    /// Counts decisions by where they were made, if the store has layers.
    pub(crate) sources: Option<SourceCounters>,
    pub(crate) latency: Latency,
    pub(crate) reloads: Reloads,
    wall_clock: WallClockLog,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("threads", &self.threads).finish_non_exhaustive()
    }
}

impl Engine {
    pub(crate) fn new(store: StoreHandle, policies: Vec<PolicyConfig>, threads: usize) -> Engine {
        let policies = Policies::new(policies, &Policies::default(), threads);
        store.set_policies(&policies);
        Engine {
            sources: store.layers().map(|_| SourceCounters::new(threads)),
            store,
            policies: ArcSwap::from_pointee(policies),
            threads,
            inline: OutcomeCounters::new(threads),
            latency: Latency::new(threads),
            reloads: Reloads::default(),
            wall_clock: WallClockLog::default(),
        }
    }

    /// Returns the current policies. They stay as they are for the caller, whatever is reloaded meanwhile.
    pub(crate) fn policies(&self) -> Guard<Arc<Policies>> {
        self.policies.load()
    }

    /// Replaces all policies at once.
    pub(crate) fn set_policies(&self, policies: &[PolicyConfig]) {
        self.policies.rcu(|before| Policies::new(policies.iter().cloned(), before, self.threads));
        self.store.set_policies(&self.policies());
    }

    /// Returns the time by the clock of the memory store, or by this machine's if the store is remote.
    pub(crate) fn now(&self) -> Time {
        self.store.now()
    }

    /// Returns how far the wall clock of this machine is behind the time of the memory store, if that is a
    /// fault; `None` if the store is remote and has a clock of its own.
    pub(crate) fn wall_behind(&self) -> Option<Duration> {
        self.store.wall_behind()
    }

    /// Returns the statistics of the memory store; `None` if the store is remote.
    pub(crate) fn stats(&self) -> Option<StoreStats> {
        self.store.stats()
    }

    /// Returns the number of states in memory of a policy with a bound of its own.
    pub(crate) fn keys_of(&self, policy: &ActivePolicy) -> Option<usize> {
        self.store.keys_of(policy.state_name())
    }

    pub(crate) fn is_store_up(&self) -> bool {
        self.store.is_up()
    }

    /// Returns what the layers around the store have done; `None` if it has none.
    pub(crate) fn layer_stats(&self) -> Option<LayerStats> {
        self.store.layers().map(LayeredStore::stats)
    }

    /// Returns whether checks of some policy fail while the store is unavailable.
    pub(crate) fn fails_without_store(&self) -> bool {
        self.store.layers().is_none()
            || self.policies().iter().any(ActivePolicy::fails_without_store)
    }

    /// Answers operations for a worker, in order and in one call of the store.
    pub(crate) async fn answer<'o, 'a: 'o>(
        &self,
        worker_id: usize,
        operations: impl Iterator<Item = &'o Operation<'a>> + Clone,
    ) -> Answers {
        let expected = operations.size_hint().1.unwrap_or_default();
        let mut items: SmallVec<[Item<'_>; 1]> = SmallVec::with_capacity(expected);
        // Candidates come after all operations, so that their answers can be cut off.
        let mut candidates: Vec<CandidateOperation<'_, '_>> = Vec::new();
        let mut count = 0;
        for operation in operations.clone() {
            operation.items().for_each(|item| items.push(item));
            candidates.extend(operation.candidate());
            count += 1;
        }
        if count == 0 {
            return Answers::new();
        }
        items.extend(candidates.iter().flat_map(|candidate| candidate.items()));
        let Ok(ops) = ops(operations.clone(), count, &candidates, &items) else {
            return operations.map(|_| Err(StoreError::unanswered())).collect();
        };
        let mut answers: Answers = ops.iter().map(|_| Err(StoreError::unanswered())).collect();
        self.apply(worker_id, &ops, &mut answers).await;
        if !candidates.is_empty() {
            self.compare(worker_id, operations.clone(), &answers, count);
            answers.truncate(count);
        }
        for (operation, answer) in operations.zip(&mut answers) {
            self.enforce(worker_id, operation, answer);
        }
        answers
    }

    /// Answers one operation, as [`answer`](Engine::answer) does several.
    pub(crate) async fn answer_one(&self, worker_id: usize, operation: &Operation<'_>) -> Answer {
        let mut answer = Err(StoreError::unanswered());
        if operation.candidate().is_some() {
            let answers = self.answer(worker_id, std::iter::once(operation)).await;
            return answers.into_iter().next().unwrap_or(answer);
        }
        let items: SmallVec<[Item<'_>; 1]> = operation.items().collect();
        if let Ok(op) = operation.op(&items) {
            self.apply(worker_id, &[op], std::slice::from_mut(&mut answer)).await;
        }
        self.enforce(worker_id, operation, &mut answer);
        answer
    }

    /// Has a remote store connect, so that the first check does not have to wait for that. Then logs whenever it
    /// becomes unavailable or available, and when the wall clock is wrong, also without any checks.
    pub(crate) async fn watch(&self) {
        if let (Some(layers), Some(probe)) = (self.store.layers(), probe::operation()) {
            let items: SmallVec<[Item<'_>; 1]> = probe.items().collect();
            if let Ok(op) = probe.op(&items) {
                // If it fails, the layers know.
                let _ = apply_one(layers, &op, None).await;
            }
        }
        loop {
            self.store.log_change();
            self.wall_clock.note(self.wall_behind(), || self.policies().names_by_calendar());
            tokio::time::sleep(WATCH_INTERVAL).await;
        }
    }

    /// Writes to a remote store what it has not counted yet, since the server stops.
    pub(crate) async fn flush(&self, deadline: Instant) {
        let Some(layers) = self.store.layers() else { return };
        let _ = timeout_at(deadline, layers.flush()).await;
        let LayerStats { unwritten, uncharged_keys, .. } = layers.stats();
        if unwritten > 0 || uncharged_keys > 0 {
            tracing::warn!(
                unwritten,
                uncharged_keys,
                "store unavailable at shutdown: admitted cost that it has not counted is lost"
            );
        }
    }

    async fn apply(&self, worker_id: usize, ops: &[Op<'_>], out: &mut [Answer]) {
        let begin = self.latency.begin(worker_id, self.store.is_remote());
        self.store.apply(ops, out).await;
        if let Some(begin) = begin.filter(|_| self.store.was_asked(out)) {
            self.latency.add(worker_id, begin.elapsed());
        }
    }

    /// Counts where candidates decide otherwise. Their answers follow those of the operations.
    fn compare<'o, 'a: 'o>(
        &self,
        worker_id: usize,
        operations: impl Iterator<Item = &'o Operation<'a>>,
        answers: &[Answer],
        count: usize,
    ) {
        let (own, candidates) = answers.split_at_checked(count).unwrap_or_default();
        let pairs = operations.zip(own).filter(|(operation, _)| operation.candidate().is_some());
        for ((operation, own), candidate) in pairs.zip(candidates) {
            let (true, Ok(own), Ok(candidate)) = (is_counted(operation), own, candidate) else {
                continue;
            };
            // A failure mode says nothing about the limits.
            if own.degraded || candidate.degraded {
                continue;
            }
            match (own.allowed, candidate.allowed) {
                (true, false) => self.counts(operation).add(worker_id, Outcome::Stricter),
                (false, true) => self.counts(operation).add(worker_id, Outcome::Looser),
                _ => 0,
            };
        }
    }

    /// Turns a denial that is not enforced into an admission, and counts the outcome.
    #[inline]
    fn enforce(&self, worker_id: usize, operation: &Operation<'_>, answer: &mut Answer) {
        let outcome = match answer {
            // The client's mistake, not a failure of ours.
            Err(error) if error.is_overdrawn() || error.is_malformed() => return,
            Err(_) => Outcome::Failed,
            // That there is nothing to act on is not for a mode of enforcement to change.
            Ok(decision) if decision.allowed || decision.not_found => Outcome::Allowed,
            Ok(_) if operation.is_enforced() => Outcome::Denied,
            Ok(decision) => {
                admit(decision);
                if operation.is_silent() { Outcome::Silenced } else { Outcome::ShadowDenied }
            }
        };
        if !is_counted(operation) {
            return;
        }
        if let (Some(sources), Ok(decision)) = (&self.sources, &*answer) {
            sources.add(worker_id, decision);
        }
        let times = self.counts(operation).add(worker_id, outcome);
        // The first, the second, the fourth …: a flood of denials must not become a flood of log lines.
        let is_denied = matches!(outcome, Outcome::Denied | Outcome::Silenced);
        if is_denied && times.is_power_of_two() {
            log_denial(operation, times);
        }
    }

    fn counts<'c>(&'c self, operation: &'c Operation<'_>) -> &'c OutcomeCounters {
        operation.policy().map_or(&self.inline, |policy| policy.counts().as_ref())
    }
}

/// Returns the operations for the store, followed by those on candidates. Their items are in the same order.
///
/// # Errors
/// Fails if an id is invalid, which was checked when the operation was created.
fn ops<'i, 'o: 'i, 'a: 'o>(
    operations: impl Iterator<Item = &'o Operation<'a>>,
    count: usize,
    candidates: &[CandidateOperation<'o, 'a>],
    items: &'i [Item<'i>],
) -> Result<SmallVec<[Op<'i>; 1]>, RequestError> {
    let mut left = items;
    let mut take = |count| {
        let (own, others) = left.split_at_checked(count).unwrap_or_default();
        left = others;
        own
    };
    let mut ops = SmallVec::with_capacity(count);
    for operation in operations {
        ops.push(operation.op(take(operation.len()))?);
    }
    for candidate in candidates {
        ops.push(candidate.op(take(candidate.len()))?);
    }
    Ok(ops)
}

/// Only operations that admit or deny a client are counted.
fn is_counted(operation: &Operation<'_>) -> bool {
    matches!(operation.act(), Act::Check | Act::Reserve)
}

/// The key is not logged, since it may identify a person.
#[cold]
fn log_denial(operation: &Operation<'_>, times: u64) {
    tracing::info!(policy = operation.policy_name().as_str(), denied = times, "denied");
}

#[cold]
fn admit(decision: &mut Decision) {
    decision.allowed = true;
    decision.would_deny = true;
    decision.retry_after = Some(Span::ZERO);
}
