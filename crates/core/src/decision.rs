//! The answer to one operation.

use crate::time::Span;

/// What one operation was answered.
///
/// The numbers are exact at the instant of the operation and describe the state it left behind:
/// a check of cost `remaining` would pass now, one of `remaining + 1` would not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    /// Whether it may pass. Always true for operations that do not ask.
    pub allowed: bool,
    /// The capacity of the limit that binds; `None` if unlimited.
    pub limit: Option<u64>,
    /// How much more could be taken at this instant; `None` if there is no bound. Zero in debt.
    pub remaining: Option<u64>,
    /// The shortest wait after which a check of the same cost passes, if nobody else comes: zero
    /// if it would at once, `None` if it never can.
    pub retry_after: Option<Span>,
    /// The shortest wait after which the key cannot be told from one never seen.
    pub reset_after: Span,
    /// Which limit of the policy these are the numbers of, counted from 0: the one that makes the
    /// caller wait longest if denied, else the one with the least remaining.
    pub bound_by: usize,
    /// The shortest wait after which that limit alone cannot be told from one never used.
    pub bound_reset_after: Span,
}

/// What one limit says; a policy's decision is folded from these.
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

    /// How long it makes the caller wait, with "never" above all.
    fn wait(&self) -> u64 {
        self.retry_after.map_or(u64::MAX, Span::as_micros)
    }

    /// What it leaves, with "no bound" above all.
    fn room(&self) -> u64 {
        self.remaining.unwrap_or(u64::MAX)
    }
}

impl Decision {
    /// What a policy of one limit says.
    #[inline]
    pub(crate) fn of(allowed: bool, answer: LimitStatus) -> Decision {
        Decision {
            allowed,
            limit: answer.limit,
            remaining: answer.remaining,
            retry_after: answer.retry_after,
            reset_after: answer.reset_after,
            bound_by: 0,
            bound_reset_after: answer.reset_after,
        }
    }
}

/// Folds the answers of a policy's limits into one, a limit at a time and in their order.
pub(crate) struct DecisionBuilder {
    allowed: bool,
    next: usize,
    sofar: Option<(usize, LimitStatus)>,
    remaining: u64,
    wait: u64,
    reset_after: Span,
}

impl DecisionBuilder {
    pub(crate) fn new(allowed: bool) -> DecisionBuilder {
        DecisionBuilder {
            allowed,
            next: 0,
            sofar: None,
            remaining: u64::MAX,
            wait: 0,
            reset_after: Span::ZERO,
        }
    }

    pub(crate) fn add(&mut self, answer: LimitStatus) {
        // Strictly more than any before it, so that the first in order binds where they are equal.
        let binds = match &self.sofar {
            None => true,
            Some((_, bound)) if self.allowed => answer.room() < bound.room(),
            Some((_, bound)) => answer.wait() > bound.wait(),
        };
        if binds {
            self.sofar = Some((self.next, answer));
        }
        self.next = self.next.saturating_add(1);
        self.remaining = self.remaining.min(answer.room());
        self.wait = self.wait.max(answer.wait());
        self.reset_after = self.reset_after.max(answer.reset_after);
    }

    pub(crate) fn decision(self) -> Decision {
        let (bound_by, bound) = self.sofar.unwrap_or((0, LimitStatus::UNLIMITED));
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
