//! What the last answer of the store says about a key.

use smallvec::SmallVec;
use tollgate_core::{Algorithm, Decision, Limit, LimitStatus, LimitStatuses, Op, Span};

use super::costs::Costs;

/// The numbers of each limit of a key when the store answered last. What remains is never more than what
/// remained then.
#[derive(Debug, Clone)]
pub(super) struct Known {
    each: SmallVec<[LimitStatus; 1]>,
    /// When the answer arrived, in microseconds.
    at: u64,
}

impl Known {
    /// Returns what an answer says, with the numbers of each limit if the store was asked for them.
    pub(super) fn from_answer(
        op: &Op<'_>,
        decision: &Decision,
        statuses: Option<&LimitStatuses>,
        at: u64,
    ) -> Known {
        let mut each: SmallVec<[LimitStatus; 1]> = SmallVec::new();
        if let Some(statuses) = statuses {
            each.extend(statuses.to_vec());
        }
        if each.len() != op.items.len() {
            // The least that remains holds for all limits.
            each.clear();
            let mut status = decision.only_status();
            each.extend(op.items.iter().map(|item| {
                status.limit = item.limit.capacity();
                status
            }));
        }
        Known { each, at }
    }

    /// Returns what remains of each limit; no bound is the greatest number.
    pub(super) fn remaining(&self) -> Costs {
        self.each.iter().map(|status| status.remaining.unwrap_or(u64::MAX)).collect()
    }

    /// Returns what remains of the limit at a position; no bound is the greatest number.
    pub(super) fn remaining_of(&self, position: usize) -> u64 {
        self.each.get(position).map_or(0, |status| status.remaining.unwrap_or(u64::MAX))
    }

    /// Notes that less remains than the store said.
    pub(super) fn subtract(&mut self, costs: &Costs) {
        for (status, cost) in self.each.iter_mut().zip(costs.iter()) {
            status.remaining = status.remaining.map(|remaining| remaining.saturating_sub(cost));
        }
    }

    /// Returns when the answer arrived, in microseconds.
    pub(super) fn received_at(&self) -> u64 {
        self.at
    }

    /// Returns the latest instant at which the key is as if it had never been seen, in microseconds.
    pub(super) fn resets_at(&self) -> u64 {
        let reset = self.each.iter().map(|status| status.reset_after.as_micros()).max();
        self.at.saturating_add(reset.unwrap_or(0))
    }

    /// Returns an admission. `remaining` returns what it leaves of the limit at a position, and `taken` what this
    /// node has taken of it that the store did not know of when it answered.
    #[inline]
    pub(super) fn admission(
        &self,
        op: &Op<'_>,
        remaining: impl Fn(usize) -> u64,
        taken: impl Fn(usize) -> u64,
        now: u64,
    ) -> Decision {
        let elapsed = now.saturating_sub(self.at);
        let after = |(position, status): (usize, &LimitStatus)| {
            let mut status = *status;
            let known = status.reset_after.as_micros().saturating_sub(elapsed);
            let item = op.items.get(position);
            let reset = item.map_or(known, |item| reset_after(item.limit, known, taken(position)));
            status.remaining = status.remaining.map(|_| remaining(position));
            status.retry_after = Some(Span::ZERO);
            status.reset_after = Span::from_micros(reset);
            status
        };
        if let ([status], None) = (&self.each[..], op.statuses) {
            return Decision::from_status(true, after((0, status)));
        }
        let each = || self.each.iter().enumerate().map(after);
        if op.statuses.is_some() {
            op.report(each());
        }
        Decision::from_statuses(true, each())
    }
}

/// Returns when a limit is as if it had never been used, in microseconds, after cost on top of what the store knew:
/// `known` is when it would have been without that. It is later rather than earlier where only the store knows better.
#[inline]
fn reset_after(limit: &Limit, known: u64, taken: u64) -> u64 {
    if taken == 0 {
        return known;
    }
    let full = limit.full_reset_after().map_or(0, Span::as_micros);
    match limit.algorithm() {
        // Each cost takes its part of the time that all of it takes.
        Algorithm::Gcra | Algorithm::TokenBucket | Algorithm::LeakyBucket | Algorithm::Legacy => {
            let capacity = limit.capacity().unwrap_or(0);
            let nanos = full.saturating_mul(1_000).checked_div(capacity).unwrap_or(0);
            known.saturating_add(taken.saturating_mul(nanos).div_ceil(1_000))
        }
        // A window that has begun ends when it would have ended.
        Algorithm::FixedWindow | Algorithm::RequestWindow if known > 0 => known,
        _ => known.max(full),
    }
}

/// Returns whether a check needs the numbers of each limit: with one limit, the decision has them; with
/// limits of one unit, the least that remains is enough.
pub(super) fn needs_statuses(op: &Op<'_>) -> bool {
    let mut units = op.items.iter().map(|item| item.limit.unit());
    let first = units.next().flatten();
    op.items.len() > 1 && units.any(|unit| unit != first)
}
