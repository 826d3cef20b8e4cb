//! The result of one operation.

use crate::time::Span;

/// The result of one operation.
///
/// The numbers are exact at the instant of the operation and describe the state it left behind:
/// a check of cost `remaining` would pass now, one of `remaining + 1` would not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    /// Whether the operation is allowed. Always true for operations that cannot be denied.
    pub allowed: bool,
    /// Capacity of the limit at [`bound_by`](Decision::bound_by); `None` if it is unlimited.
    pub limit: Option<u64>,
    /// How much cost would still be allowed at this instant; `None` if there is no bound. Zero in
    /// debt.
    pub remaining: Option<u64>,
    /// The shortest wait after which a check of the same cost is allowed if no other request
    /// arrives. Zero if it would be allowed at once, `None` if it never can be.
    pub retry_after: Option<Span>,
    /// The shortest wait after which the key is indistinguishable from one never seen.
    pub reset_after: Span,
    /// Position in the policy, from 0, of the limit that `limit` belongs to. If denied, this is the
    /// limit with the longest wait, otherwise the one with the least remaining.
    pub bound_by: usize,
    /// The shortest wait after which the limit at [`bound_by`](Decision::bound_by) alone is
    /// indistinguishable from one never used.
    pub bound_reset_after: Span,
}

/// The numbers of one limit. A policy's decision is folded from these.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LimitStatus {
    pub(crate) limit: Option<u64>,
    pub(crate) remaining: Option<u64>,
    pub(crate) retry_after: Option<Span>,
    pub(crate) reset_after: Span,
}

impl LimitStatus {
    pub(crate) const UNLIMITED: LimitStatus = LimitStatus {
        limit: None,
        remaining: None,
        retry_after: Some(Span::ZERO),
        reset_after: Span::ZERO,
    };

    /// Returns the wait in microseconds; "never" is the greatest.
    fn wait(&self) -> u64 {
        self.retry_after.map_or(u64::MAX, Span::as_micros)
    }

    /// Returns the remaining cost; "no bound" is the greatest.
    fn room(&self) -> u64 {
        self.remaining.unwrap_or(u64::MAX)
    }
}

impl Decision {
    /// Creates the decision of a policy with one limit.
    #[inline]
    pub(crate) fn of(allowed: bool, status: LimitStatus) -> Decision {
        Decision {
            allowed,
            limit: status.limit,
            remaining: status.remaining,
            retry_after: status.retry_after,
            reset_after: status.reset_after,
            bound_by: 0,
            bound_reset_after: status.reset_after,
        }
    }
}

/// Folds the status of each limit of a policy, in order, into one decision.
pub(crate) struct DecisionBuilder {
    allowed: bool,
    next: usize,
    /// The position and status of the limit that binds among those added.
    bound: Option<(usize, LimitStatus)>,
    remaining: u64,
    wait: u64,
    reset_after: Span,
}

impl DecisionBuilder {
    pub(crate) fn new(allowed: bool) -> DecisionBuilder {
        DecisionBuilder {
            allowed,
            next: 0,
            bound: None,
            remaining: u64::MAX,
            wait: 0,
            reset_after: Span::ZERO,
        }
    }

    pub(crate) fn add(&mut self, status: LimitStatus) {
        // The comparisons are strict, so that the first limit binds where several are equal.
        let binds = match &self.bound {
            None => true,
            Some((_, bound)) if self.allowed => status.room() < bound.room(),
            Some((_, bound)) => status.wait() > bound.wait(),
        };
        if binds {
            self.bound = Some((self.next, status));
        }
        self.next = self.next.saturating_add(1);
        self.remaining = self.remaining.min(status.room());
        self.wait = self.wait.max(status.wait());
        self.reset_after = self.reset_after.max(status.reset_after);
    }

    pub(crate) fn build(self) -> Decision {
        let (bound_by, bound) = self.bound.unwrap_or((0, LimitStatus::UNLIMITED));
        Decision {
            allowed: self.allowed,
            limit: bound.limit,
            remaining: (self.remaining != u64::MAX).then_some(self.remaining),
            retry_after: (self.wait != u64::MAX).then_some(Span::from_micros(self.wait)),
            reset_after: self.reset_after,
            bound_by,
            bound_reset_after: bound.reset_after,
        }
    }
}
