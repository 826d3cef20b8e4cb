//! For stores that decide outside this process.
//!
//! You need this module to write such a store. A script inside Redis decides and writes; it would
//! be slow, and one more copy of the arithmetic, if it also computed `remaining`, `retry_after` and
//! `reset_after`. So it gets the [`RuleParams`] of each limit and returns the states it left, and
//! [`remote_decision`] computes from them the decision that [`decide`](crate::storage::decide)
//! would have returned.
//!
//! The [`RuleParams`] also serve to describe a limit to clients, as rate limit headers do.

use crate::decision::{Decision, LimitStatus};
use crate::rule::{Capacity, Packed};
use crate::time::{Span, Time};

pub use crate::limit::params::LimitParams;
pub use crate::rule::RuleParams;

/// The state of one limit after an operation in a remote store.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum RemoteState {
    /// There is no state.
    Nothing,
    /// A state of three words.
    Packed(Packed),
    /// A summary of a longer state.
    Counted {
        /// The cost that counts.
        used: u64,
        /// When the cost of the operation fits, since the epoch. Used only if it does not fit now
        /// but can.
        fits_at: Span,
        /// When the state resets, since the epoch.
        resets: Span,
    },
}

/// One limit after an operation in a remote store.
#[derive(Debug, Clone, Copy)]
pub struct RemoteLimit {
    /// The capacity it was decided by.
    pub capacity: Capacity,
    /// The state that the operation left.
    pub state: RemoteState,
    /// The instant of the operation.
    pub now: Time,
    /// The cost it took, or was to take.
    pub cost: u64,
}

impl RemoteLimit {
    /// Returns the numbers of the limit.
    #[must_use]
    pub fn status(&self) -> LimitStatus {
        let RemoteLimit { capacity, state, now, cost } = *self;
        status(capacity, state, now, cost)
    }
}

/// Returns the decision for the states that a remote store left.
///
/// Each limit has its own instant of the operation, because limits may be counted on different
/// nodes with different clocks.
///
/// ```
/// use tollgate_core::remote::{LimitParams as _, RemoteLimit, RemoteState, remote_decision};
/// use tollgate_core::{Limit, Span, Time};
///
/// let limit: Limit = "sliding-log 5/min".parse()?;
/// let (fits_at, resets) = (Span::ZERO, Span::from_micros(60_000_000));
/// let state = RemoteState::Counted { used: 2, fits_at, resets };
/// let capacity = limit.exact_capacity();
/// let decision =
///     remote_decision(true, [RemoteLimit { capacity, state, now: Time::EPOCH, cost: 1 }]);
/// assert_eq!(decision.remaining, Some(3));
/// # Ok::<(), tollgate_core::LimitError>(())
/// ```
pub fn remote_decision(allowed: bool, limits: impl IntoIterator<Item = RemoteLimit>) -> Decision {
    Decision::from_statuses(allowed, limits.into_iter().map(|limit| limit.status()))
}

fn status(capacity: Capacity, state: RemoteState, now: Time, cost: u64) -> LimitStatus {
    let Some(limit) = capacity.whole() else { return LimitStatus::UNLIMITED };
    let (used, fits_at, resets) = match state {
        RemoteState::Packed(packed) => return packed.status(capacity, now, cost),
        RemoteState::Nothing => (0, now, now),
        RemoteState::Counted { used, fits_at, resets } => {
            (used, Time::EPOCH.after(fits_at), Time::EPOCH.after(resets))
        }
    };
    let room = limit.saturating_sub(used);
    let fits = cost <= room && used <= limit;
    let wait = if fits { Span::ZERO } else { fits_at.since(now) };
    LimitStatus {
        limit: Some(limit),
        remaining: Some(room),
        retry_after: (cost <= limit).then_some(wait),
        reset_after: resets.since(now),
    }
}
