//! What the last answer of the store says about a key.

use std::iter::once;

use tollgate_core::{Algorithm, Decision, Item, Limit, LimitStatus, LimitStatuses, Op, Span};

use super::costs::Costs;

/// The numbers of each limit of a key when the store answered last. What remains is never more than what
/// remained then.
#[derive(Debug, Clone)]
pub(super) struct Known {
    /// Most policies have one limit, so that the first is at hand.
    first: KnownLimit,
    others: Vec<KnownLimit>,
    /// When the answer arrived, in microseconds.
    at: u64,
}

/// The numbers of one limit when the store answered last.
#[derive(Debug, Clone, Copy)]
struct KnownLimit {
    status: LimitStatus,
    reset: Reset,
}

impl Known {
    /// Returns what an answer says, with the numbers of each limit if the store was asked for them.
    pub(super) fn from_answer(
        op: &Op<'_>,
        decision: &Decision,
        statuses: Option<&LimitStatuses>,
        at: u64,
    ) -> Known {
        let statuses = statuses.map(LimitStatuses::to_vec).unwrap_or_default();
        let known = |(position, item): (usize, &Item<'_>)| {
            let status = statuses.get(position).copied().unwrap_or_else(|| {
                // The least that remains holds for all limits.
                let mut status = decision.only_status();
                status.limit = item.limit.capacity();
                status
            });
            KnownLimit { status, reset: Reset::of(item.limit) }
        };
        let mut each = op.items.iter().enumerate().map(known);
        let unlimited = || KnownLimit { status: decision.only_status(), reset: Reset::Whole(0) };
        Known { first: each.next().unwrap_or_else(unlimited), others: each.collect(), at }
    }

    fn each(&self) -> impl Iterator<Item = &KnownLimit> {
        once(&self.first).chain(&self.others)
    }

    /// Returns what remains of each limit; no bound is the greatest number.
    pub(super) fn remaining(&self) -> Costs {
        self.each().map(|known| known.status.remaining.unwrap_or(u64::MAX)).collect()
    }

    /// Returns what remains of the limit at a position; no bound is the greatest number.
    #[inline]
    pub(super) fn remaining_of(&self, position: usize) -> u64 {
        let known = match position.checked_sub(1) {
            None => Some(&self.first),
            Some(other) => self.others.get(other),
        };
        known.map_or(0, |known| known.status.remaining.unwrap_or(u64::MAX))
    }

    /// Notes that less remains than the store said.
    pub(super) fn subtract(&mut self, costs: &Costs) {
        for (known, cost) in once(&mut self.first).chain(&mut self.others).zip(costs.iter()) {
            let remaining = known.status.remaining;
            known.status.remaining = remaining.map(|remaining| remaining.saturating_sub(cost));
        }
    }

    /// Returns when the answer arrived, in microseconds.
    pub(super) fn received_at(&self) -> u64 {
        self.at
    }

    /// Returns the latest instant at which the key is as if it had never been seen, in microseconds.
    pub(super) fn resets_at(&self) -> u64 {
        let reset = self.each().map(|known| known.status.reset_after.as_micros()).max();
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
        let after = |(position, known): (usize, &KnownLimit)| {
            let KnownLimit { mut status, reset } = *known;
            let known = status.reset_after.as_micros().saturating_sub(elapsed);
            status.remaining = status.remaining.map(|_| remaining(position));
            status.retry_after = Some(Span::ZERO);
            status.reset_after = Span::from_micros(reset.after(known, taken(position)));
            status
        };
        if op.items.len() == 1 && op.statuses.is_none() {
            return Decision::from_status(true, after((0, &self.first)));
        }
        let each = || self.each().enumerate().map(after);
        if op.statuses.is_some() {
            op.report(each());
        }
        Decision::from_statuses(true, each())
    }
}

/// How the time until a limit is as if it had never been used grows with what is taken. It is later rather than earlier
/// where only the store knows better.
#[derive(Debug, Clone, Copy)]
enum Reset {
    /// Each cost takes its part of the time that all of it takes, in nanoseconds.
    PerCost(u64),
    /// A window that has begun ends when it would have ended; a new one takes so long, in microseconds.
    Window(u64),
    /// All of it takes so long, in microseconds.
    Whole(u64),
}

impl Reset {
    fn of(limit: &Limit) -> Reset {
        let full = limit.full_reset_after().map_or(0, Span::as_micros);
        match limit.algorithm() {
            Algorithm::Gcra
            | Algorithm::TokenBucket
            | Algorithm::LeakyBucket
            | Algorithm::Legacy => {
                let capacity = limit.capacity().unwrap_or(0);
                Reset::PerCost(full.saturating_mul(1_000).checked_div(capacity).unwrap_or(0))
            }
            Algorithm::FixedWindow | Algorithm::RequestWindow => Reset::Window(full),
            _ => Reset::Whole(full),
        }
    }

    /// Returns the time after cost on top of what the store knew, in microseconds. `known` is what it would be without
    /// that.
    #[inline]
    fn after(self, known: u64, taken: u64) -> u64 {
        match self {
            _ if taken == 0 => known,
            Reset::PerCost(nanos) => {
                known.saturating_add(taken.saturating_mul(nanos).div_ceil(1_000))
            }
            Reset::Window(_) if known > 0 => known,
            Reset::Window(full) | Reset::Whole(full) => known.max(full),
        }
    }
}

/// Returns whether a check needs the numbers of each limit: with one limit, the decision has them; with
/// limits of one unit, the least that remains is enough.
pub(super) fn needs_statuses(op: &Op<'_>) -> bool {
    let mut units = op.items.iter().map(|item| item.limit.unit());
    let first = units.next().flatten();
    op.items.len() > 1 && units.any(|unit| unit != first)
}
