//! Counters. Each worker has its own, which are summed when the metrics are read.

use std::sync::atomic::{AtomicU64, Ordering};

use tollgate_core::{Decision, Source};

/// The number of config reloads.
#[derive(Debug, Default)]
pub(crate) struct Reloads {
    pub(crate) success: AtomicU64,
    pub(crate) failure: AtomicU64,
}

/// The outcome of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The request was allowed.
    Allowed,
    /// The request was denied.
    Denied,
    /// The limits denied the request, but it was allowed since the policy is not enforced for it.
    ShadowDenied,
    /// The limits denied the request, and the client was answered as if it were allowed.
    Silenced,
    /// The store returned an error.
    Failed,
    /// The candidate would deny what the policy allows.
    Stricter,
    /// The candidate would allow what the policy denies.
    Looser,
}

const OUTCOMES: usize = 7;

/// The number of operations of one policy by outcome, counted per worker.
#[derive(Debug)]
pub(crate) struct OutcomeCounters(Box<[WorkerCounters]>);

/// The counters of one worker. They have a cache line to themselves, as no other worker writes there.
#[derive(Debug, Default)]
#[repr(align(64))]
struct WorkerCounters([AtomicU64; OUTCOMES]);

impl OutcomeCounters {
    pub(crate) fn new(threads: usize) -> OutcomeCounters {
        OutcomeCounters((0..threads).map(|_| WorkerCounters::default()).collect())
    }

    /// Counts an outcome for this worker. Returns the worker's new count.
    #[inline]
    pub(crate) fn add(&self, worker_id: usize, outcome: Outcome) -> u64 {
        let worker = self.0.get(worker_id);
        let counter = worker.and_then(|worker| worker.0.get(outcome as usize));
        counter.map_or(0, |counter| add_unshared(counter, 1))
    }

    /// Returns the sum of all workers.
    pub(crate) fn total(&self, outcome: Outcome) -> u64 {
        let counters = self.0.iter().filter_map(|worker| worker.0.get(outcome as usize));
        counters.map(|counter| counter.load(Ordering::Relaxed)).fold(0, u64::wrapping_add)
    }
}

const SOURCES: usize = Source::ALL.len();

/// The number of decisions by their source, counted per worker.
#[derive(Debug)]
pub(crate) struct SourceCounters(Box<[WorkerSources]>);

/// The counters of one worker, in a cache line to themselves.
#[derive(Debug, Default)]
#[repr(align(64))]
struct WorkerSources {
    by_source: [AtomicU64; SOURCES],
    /// Those that were made without the store because it was unavailable.
    degraded: AtomicU64,
}

impl SourceCounters {
    pub(crate) fn new(threads: usize) -> SourceCounters {
        SourceCounters((0..threads).map(|_| WorkerSources::default()).collect())
    }

    pub(crate) fn add(&self, worker_id: usize, decision: &Decision) {
        let Some(worker) = self.0.get(worker_id) else { return };
        if let Some(counter) = worker.counter(decision.source) {
            add_unshared(counter, 1);
        }
        if decision.degraded {
            add_unshared(&worker.degraded, 1);
        }
    }

    /// Returns the sum of all workers.
    pub(crate) fn total(&self, source: Source) -> u64 {
        let counters = self.0.iter().filter_map(|worker| worker.counter(source));
        counters.map(|counter| counter.load(Ordering::Relaxed)).fold(0, u64::wrapping_add)
    }

    /// Returns how many were made without the store because it was unavailable.
    pub(crate) fn degraded(&self) -> u64 {
        let counters = self.0.iter().map(|worker| worker.degraded.load(Ordering::Relaxed));
        counters.fold(0, u64::wrapping_add)
    }
}

impl WorkerSources {
    fn counter(&self, source: Source) -> Option<&AtomicU64> {
        self.by_source.get(Source::ALL.iter().position(|other| *other == source)?)
    }
}

/// Adds to a counter that only this thread writes, which needs no locked instruction. Returns the sum.
#[inline]
pub(super) fn add_unshared(counter: &AtomicU64, amount: u64) -> u64 {
    let sum = counter.load(Ordering::Relaxed).wrapping_add(amount);
    counter.store(sum, Ordering::Relaxed);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_all_workers_are_summed() {
        let counters = OutcomeCounters::new(2);
        counters.add(0, Outcome::Allowed);
        counters.add(1, Outcome::Allowed);
        counters.add(1, Outcome::Denied);
        counters.add(2, Outcome::Denied);
        assert_eq!((counters.total(Outcome::Allowed), counters.total(Outcome::Denied)), (2, 1));
    }
}
