//! The result of one operation.

use std::error::Error;
use std::fmt;
use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;

use crate::time::Span;

/// The result of one operation.
///
/// The numbers are exact at the instant of the operation and describe the state it left behind:
/// a check of cost `remaining` would pass now, one of `remaining + 1` would not.
///
/// A denial is a decision, not an error. [`into_result`](Decision::into_result) makes it one, for
/// callers that want to use `?`.
///
/// ```
/// use tollgate_core::{Act, Name, PlainStore, Policy, Request, Span, Time};
///
/// let (store, api) = (PlainStore::default(), Policy::parse(Name::new("api")?, ["gcra 1/s burst 5"])?);
/// let request = Request::of("203.0.113.9").cost(3);
/// let check = || request.with_op(&api, Act::Check, |op| store.apply_one(op, Time::EPOCH));
/// let decision = check()??;
/// assert!(decision.allowed);
/// assert_eq!((decision.limit, decision.remaining), (Some(5), Some(2)));
///
/// let decision = check()??;
/// assert!(!decision.allowed);
/// assert_eq!(decision.retry_after, Some(Span::from_micros(1_000_000)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "a decision may be a denial: look at `allowed`, or use `into_result`"]
pub struct Decision {
    /// Whether the operation is allowed. Always true for a charge, a refund and a reset.
    pub allowed: bool,
    /// Whether it is not allowed because a settle, release or renew found nothing under its id: no open
    /// reservation, or no lease that is held. A wait does not help then.
    pub not_found: bool,
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
    /// How much cost the limit at [`bound_by`](Decision::bound_by) alone would still allow, in its own unit;
    /// `None` if it is unlimited.
    pub bound_remaining: Option<u64>,
    /// The shortest wait after which the limit at [`bound_by`](Decision::bound_by) alone is
    /// indistinguishable from one never used.
    pub bound_reset_after: Span,
    /// Where the decision was made.
    pub source: Source,
    /// Whether it was made without the store because the store was unavailable. The numbers are then
    /// those of this process alone.
    pub degraded: bool,
    /// Whether the operation was done but not remembered by its id, because the store's memory for ids is
    /// full: repeated with the same id it would be done again.
    pub not_remembered: bool,
    /// Whether the limits deny what is allowed, since denials are not enforced for it. No store sets this, but what
    /// enforces a policy: a server, or a middleware.
    pub would_deny: bool,
}

/// Where a decision was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Source {
    /// By the store that keeps the state.
    #[default]
    Store,
    /// In this process, which knows that the key is denied.
    Cache,
    /// In this process, from quota that was taken from the store ahead.
    Prefetch,
    /// In this process, from its own counts.
    Local,
    /// By the failure mode of the policy, because the store was unavailable.
    FailureMode,
}

impl Source {
    /// All sources of a decision.
    pub const ALL: [Source; 5] =
        [Source::Store, Source::Cache, Source::Prefetch, Source::Local, Source::FailureMode];

    /// Returns its name in protocols and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Source::Store => "store",
            Source::Cache => "cache",
            Source::Prefetch => "prefetch",
            Source::Local => "local",
            Source::FailureMode => "failure-mode",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The numbers of one limit after an operation. A policy's decision is folded from these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LimitStatus {
    /// Capacity of the limit; `None` if it is unlimited.
    pub limit: Option<u64>,
    /// How much cost this limit would still allow at this instant; `None` if there is no bound.
    /// Zero in debt.
    pub remaining: Option<u64>,
    /// The shortest wait after which this limit allows its cost of the operation again. Zero if it
    /// would allow it at once, `None` if it never can.
    pub retry_after: Option<Span>,
    /// The shortest wait after which the limit is indistinguishable from one never used.
    pub reset_after: Span,
}

impl LimitStatus {
    pub(crate) const UNLIMITED: LimitStatus = LimitStatus {
        limit: None,
        remaining: None,
        retry_after: Some(Span::ZERO),
        reset_after: Span::ZERO,
    };

    /// Returns whether this limit would allow its cost of the operation at this instant. If the
    /// operation was denied, the limits for which this is false denied it. (Under `count-denied` a
    /// limit may have allowed it, and not any more after the attempt was counted.)
    #[must_use]
    pub fn allows(&self) -> bool {
        self.retry_after == Some(Span::ZERO)
    }

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
    /// Returns the decision as one that may be ignored if it is an admission, and otherwise an error
    /// with the wait.
    ///
    /// ```
    /// use tollgate_core::{Act, Name, PlainStore, Policy, Request, Span, Time};
    ///
    /// let (store, policy) = (PlainStore::default(), Policy::parse(Name::default(), ["gcra 1/s"])?);
    /// let request = Request::of("a");
    /// let check = || request.with_op(&policy, Act::Check, |op| store.apply_one(op, Time::EPOCH));
    /// assert!(check()??.into_result().is_ok());
    ///
    /// let denied = check()??.into_result().unwrap_err();
    /// assert_eq!(denied.retry_after(), Some(Span::from_micros(1_000_000)));
    /// assert_eq!(denied.to_string(), "denied: retry after 1s");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the operation was denied, or found nothing to act on.
    pub fn into_result(self) -> Result<Allowed, Denied> {
        if self.allowed { Ok(Allowed(self)) } else { Err(Denied(self)) }
    }

    /// Returns the same decision, made elsewhere.
    pub fn with_source(self, source: Source) -> Decision {
        Decision { source, ..self }
    }

    /// Creates the decision of a policy from the status of each of its limits, in order.
    ///
    /// ```
    /// use tollgate_core::{Act, Decision, LimitStatuses, Name, PlainStore, Policy, Request, Time};
    ///
    /// let policy = Policy::parse(Name::default(), ["gcra 1/s burst 5", "fixed-window 100/day"])?;
    /// let (store, each) = (PlainStore::default(), LimitStatuses::default());
    /// let request = Request::of("a").statuses(&each);
    /// let check = request.with_op(&policy, Act::Check, |op| store.apply_one(op, Time::EPOCH))??;
    /// assert_eq!(Decision::from_statuses(true, each.to_vec()), check);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn from_statuses(allowed: bool, each: impl IntoIterator<Item = LimitStatus>) -> Decision {
        let mut decision = DecisionBuilder::new(allowed);
        each.into_iter().for_each(|status| decision.add(status));
        decision.build()
    }

    /// Returns the status of the only limit of a policy.
    #[must_use]
    pub fn only_status(&self) -> LimitStatus {
        let Decision { limit, remaining, retry_after, reset_after, .. } = *self;
        LimitStatus { limit, remaining, retry_after, reset_after }
    }

    /// Returns the decision of a policy with one limit, whose status this is.
    #[inline]
    pub fn from_status(allowed: bool, status: LimitStatus) -> Decision {
        Decision {
            allowed,
            not_found: false,
            limit: status.limit,
            remaining: status.remaining,
            retry_after: status.retry_after,
            reset_after: status.reset_after,
            bound_by: 0,
            bound_remaining: status.remaining,
            bound_reset_after: status.reset_after,
            source: Source::Store,
            degraded: false,
            not_remembered: false,
            would_deny: false,
        }
    }
}

/// The decision of an operation that was allowed. It has the fields of a [`Decision`]. Unlike a
/// `Decision`, it is not `must_use`. Created by [`Decision::into_result`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowed(Decision);

impl Deref for Allowed {
    type Target = Decision;

    fn deref(&self) -> &Decision {
        &self.0
    }
}

/// A denial as an error. Created by [`Decision::into_result`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Denied(Decision);

impl Denied {
    /// Returns the decision.
    pub fn decision(&self) -> &Decision {
        &self.0
    }

    /// Returns the shortest wait after which a retry can be allowed; `None` if it never can: the cost
    /// never fits, or there is nothing under the id.
    #[must_use]
    pub fn retry_after(&self) -> Option<Span> {
        self.0.retry_after.filter(|_| !self.0.not_found)
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.retry_after, self.0.limit) {
            _ if self.0.not_found => f.write_str("no reservation or lease under this id"),
            (Some(wait), _) => write!(f, "denied: retry after {wait}"),
            (None, Some(limit)) => write!(f, "denied: the cost exceeds the limit of {limit}"),
            (None, None) => f.write_str("denied: the cost exceeds the limit"),
        }
    }
}

impl Error for Denied {}

/// The status of each limit of an operation, in order, for callers that want more than the decision
/// of the whole policy. Pass it with [`Request::statuses`](crate::Request::statuses).
///
/// It is empty before the operation, if the operation failed, and if it was a retry that returned
/// the remembered decision of its id.
#[derive(Debug, Default)]
pub struct LimitStatuses(Mutex<Statuses>);

/// Without an allocation for a single limit.
type Statuses = SmallVec<[LimitStatus; 1]>;

impl LimitStatuses {
    fn lock(&self) -> MutexGuard<'_, Statuses> {
        // A panic while it was locked can have left out statuses at most.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces what is in it.
    pub(crate) fn set(&self, each: impl IntoIterator<Item = LimitStatus>) {
        let mut statuses = self.lock();
        statuses.clear();
        statuses.extend(each);
    }

    /// Adds the status of the next limit.
    #[cold]
    pub(crate) fn push(&self, status: LimitStatus) {
        self.lock().push(status);
    }

    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    /// Returns the status of the limit at this position of the policy.
    #[must_use]
    pub fn get(&self, position: usize) -> Option<LimitStatus> {
        self.lock().get(position).copied()
    }

    /// Returns all of them.
    #[must_use]
    pub fn to_vec(&self) -> Vec<LimitStatus> {
        self.lock().to_vec()
    }
}

/// Folds the status of each limit of a policy, in order, into one decision.
#[derive(Debug)]
pub struct DecisionBuilder {
    allowed: bool,
    next: usize,
    /// The position and status of the limit that binds among those added.
    bound_by: usize,
    bound: LimitStatus,
    remaining: u64,
    wait: u64,
    reset_after: Span,
}

impl DecisionBuilder {
    /// Creates a builder to which no limit was added.
    #[inline]
    #[must_use]
    pub fn new(allowed: bool) -> DecisionBuilder {
        DecisionBuilder {
            allowed,
            next: 0,
            bound_by: 0,
            bound: LimitStatus::UNLIMITED,
            remaining: u64::MAX,
            wait: 0,
            reset_after: Span::ZERO,
        }
    }

    /// Adds the next limit.
    #[inline(always)]
    pub fn add(&mut self, status: LimitStatus) {
        // The comparisons are strict, so that the first limit binds where several are equal. What binds has the least
        // room, or the longest wait.
        let binds =
            if self.allowed { status.room() < self.remaining } else { status.wait() > self.wait };
        if binds || self.next == 0 {
            (self.bound_by, self.bound) = (self.next, status);
        }
        self.next = self.next.saturating_add(1);
        self.remaining = self.remaining.min(status.room());
        self.wait = self.wait.max(status.wait());
        self.reset_after = self.reset_after.max(status.reset_after);
    }

    /// Returns the decision.
    #[inline(always)]
    pub fn build(self) -> Decision {
        let DecisionBuilder { bound_by, bound, .. } = self;
        Decision {
            allowed: self.allowed,
            not_found: false,
            limit: bound.limit,
            remaining: (self.remaining != u64::MAX).then_some(self.remaining),
            retry_after: (self.wait != u64::MAX).then_some(Span::from_micros(self.wait)),
            reset_after: self.reset_after,
            bound_by,
            bound_remaining: bound.remaining,
            bound_reset_after: bound.reset_after,
            source: Source::Store,
            degraded: false,
            not_remembered: false,
            would_deny: false,
        }
    }
}
