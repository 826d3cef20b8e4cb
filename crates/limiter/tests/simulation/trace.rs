//! What was seen in a run, for the judges.

use std::collections::HashMap;
use std::time::Duration;

use tollgate::{
    Act, Decision, Id, Item, Key, Limit, LimitStatuses, Name, Op, Source, Span, Subject,
};

use crate::limits::Rule;
use crate::plan::Plan;
use crate::server::POLICY;

/// An operation on one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Operation {
    pub(crate) act: Act,
    pub(crate) key: Vec<u8>,
    /// The cost of each limit.
    pub(crate) costs: Vec<u64>,
    pub(crate) id: Option<Vec<u8>>,
}

impl Operation {
    /// A write under another name, by which a layer finds out whether the store is back, finds no state: as a peek.
    pub(crate) fn of(op: &Op<'_>) -> Operation {
        Operation {
            act: if op.policy.as_str() == POLICY { op.act } else { Act::Peek },
            key: op.items[0].subject.key.as_bytes().to_vec(),
            costs: op.items.iter().map(|item| item.cost).collect(),
            id: op.id.map(|id| id.as_bytes().to_vec()),
        }
    }

    /// Calls `with` with the operation as stores take it.
    pub(crate) fn with_op<T>(
        &self,
        policy: &Name,
        limits: &[Limit],
        statuses: Option<&LimitStatuses>,
        with: impl FnOnce(Op<'_>) -> T,
    ) -> T {
        let subject = Subject { name: None, key: Key::new(&self.key).unwrap() };
        let items = limits.iter().zip(&self.costs);
        let items: Vec<Item<'_>> =
            items.map(|(limit, cost)| Item { limit, subject, cost: *cost }).collect();
        let mut op = Op::check(policy, &items).with_act(self.act);
        op.id = self.id.as_deref().map(|id| Id::new(id).unwrap());
        op.statuses = statuses;
        with(op)
    }

    /// Returns the greatest cost over all limits.
    pub(crate) fn cost(&self) -> u64 {
        self.costs.iter().copied().max().unwrap_or(0)
    }
}

/// Something that the store did.
#[derive(Debug, Clone)]
pub(crate) struct Booking {
    /// Its instant by the store's clock, in microseconds.
    pub(crate) at: u64,
    pub(crate) node: usize,
    pub(crate) op: Operation,
    pub(crate) allowed: bool,
    /// The wait in its answer; `None` if it was never.
    pub(crate) retry_after: Option<u64>,
    /// How much less remained afterwards, of the limit where that is most.
    pub(crate) taken: u64,
    /// How much more remained afterwards, of the limit where that is most.
    pub(crate) given: u64,
}

/// A call that a caller made, and what it got.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) node: usize,
    pub(crate) op: Operation,
    /// Whether it went with others in one call.
    pub(crate) in_batch: bool,
    /// When it began and ended by the store's clock, in microseconds.
    pub(crate) began: u64,
    pub(crate) ended: u64,
    /// When it ended by the clock of its node, in microseconds.
    pub(crate) ended_at_node: u64,
    pub(crate) result: CallResult,
    /// What the store would have answered at its end, if it was answered by the node.
    pub(crate) truth: Option<Decision>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CallResult {
    Decided(Decision),
    Unavailable,
    Failed(String),
    /// The caller went away.
    Cancelled,
    /// No answer for far too long.
    Hung,
}

impl Call {
    pub(crate) fn decision(&self) -> Option<&Decision> {
        match &self.result {
            CallResult::Decided(decision) => Some(decision),
            _ => None,
        }
    }

    /// Returns the same without the number that the store gave its answer.
    pub(crate) fn without_serial(&self) -> Call {
        let mut call = self.clone();
        if let CallResult::Decided(decision) = &mut call.result {
            decision.bound_reset_after = Span::ZERO;
        }
        call
    }

    /// Returns the decision if the store made it.
    pub(crate) fn by_store(&self) -> Option<&Decision> {
        self.decision().filter(|decision| decision.source == Source::Store)
    }

    /// Returns whether the node admitted it by itself, and not because the store failed.
    pub(crate) fn admitted_by_node(&self) -> bool {
        let is_from_node = |source| matches!(source, Source::Local | Source::Prefetch);
        self.op.act == Act::Check
            && self
                .decision()
                .is_some_and(|of| of.allowed && !of.degraded && is_from_node(of.source))
    }

    /// Returns the decision if it was made without the store because the store failed.
    pub(crate) fn degraded(&self) -> Option<&Decision> {
        self.decision().filter(|decision| decision.degraded)
    }
}

/// How things stood at the end, when all faults had been over for a while.
#[derive(Debug, Clone)]
pub(crate) struct End {
    pub(crate) at: u64,
    /// For each node, whether it still considers the store unavailable.
    pub(crate) is_open: Vec<bool>,
    pub(crate) last_errors: Vec<Option<String>>,
    /// What each node answered to a last peek and check of each key.
    pub(crate) calls: Vec<Call>,
    /// How much remained of each limit, by key.
    pub(crate) remaining: HashMap<Vec<u8>, Vec<u64>>,
    /// What one node answered when it was asked for all that the limits of a key allow, after the state of the
    /// key was gone.
    pub(crate) demand: Vec<Call>,
}

/// A whole run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) plan: Plan,
    pub(crate) calls: Vec<Call>,
    pub(crate) bookings: Vec<Booking>,
    /// When the store lost its state.
    pub(crate) forgets: Vec<u64>,
    pub(crate) end: End,
}

impl Run {
    /// Returns the booking that a decision of the store belongs to. The store numbers its answers.
    pub(crate) fn booking(&self, decision: &Decision) -> Option<(usize, &Booking)> {
        let serial = usize::try_from(decision.bound_reset_after.as_micros()).unwrap();
        let index = serial.checked_sub(1)?;
        Some((index, self.bookings.get(index)?))
    }

    /// Returns for each booking when its answer reached a caller.
    pub(crate) fn answered(&self) -> HashMap<usize, u64> {
        let answers = self.calls.iter().filter_map(|call| {
            let (index, _) = self.booking(call.by_store()?)?;
            Some((index, call.ended))
        });
        answers.collect()
    }

    /// Returns all calls, also those at the end.
    pub(crate) fn all_calls(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().chain(&self.end.calls).chain(&self.end.demand)
    }

    /// Returns what the store did for a key.
    pub(crate) fn bookings_of(&self, key: &[u8]) -> Vec<&Booking> {
        self.bookings.iter().filter(|booking| booking.op.key == key).collect()
    }

    /// Returns whether what was taken at an instant surely still counts at the end.
    pub(crate) fn still_counts(&self, at: u64) -> bool {
        let still_counts = |rule: &Rule| rule.still_counts(at, self.end.at);
        !self.plan.is_skewed() && self.plan.rules.iter().any(still_counts)
    }

    pub(crate) fn timeout(&self) -> u64 {
        micros(self.plan.timeout)
    }
}

pub(crate) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap()
}
