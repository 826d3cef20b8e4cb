//! Deciding when the store has no room for new states.

use tollgate_core::storage::{Handle, Outcome, decide};
use tollgate_core::{Act, Item, Op, Span, StoreError, Time};

use super::states::States;
use crate::memory::store::{MemoryStore, WhenFull};

/// The `retry_after` of an operation that a full store denies.
const RETRY_WHEN_FULL: Span = Span::from_micros(1_000_000);

impl MemoryStore {
    /// Decides when there may be no room for new states. Operations that need no room are done as usual,
    /// so that a known key is never treated as new.
    pub(super) fn decide_when_full(
        &self,
        op: &Op<'_>,
        handle: Option<Handle>,
        states: &mut States,
        now: Time,
    ) -> Result<Outcome, StoreError> {
        let mut after = states.clone();
        // A peek returns what a check would.
        let act = if op.act == Act::Peek { Act::Check } else { op.act };
        let outcome = decide(&op.with_act(act), handle, &mut after, now)?;
        let is_new =
            |(before, after): (&Option<_>, &Option<_>)| before.is_none() && after.is_some();
        let adds = states.iter().zip(&after).any(is_new);
        if adds {
            self.budget.count_rejection();
        }
        match self.when_full {
            WhenFull::Deny if adds => return reject(op, outcome),
            _ if op.act == Act::Peek => return decide(op, handle, states, now),
            _ => {}
        }
        for (before, after) in states.iter_mut().zip(after) {
            if before.is_some() {
                *before = after;
            }
        }
        Ok(outcome)
    }
}

/// Returns the outcome of an operation for which there is no room, and which changed nothing.
fn reject(op: &Op<'_>, mut outcome: Outcome) -> Result<Outcome, StoreError> {
    if !op.act.can_be_denied() {
        return Err(StoreError::full());
    }
    outcome.decision.allowed = false;
    outcome.decision.remaining = Some(0);
    outcome.decision.bound_remaining = Some(0);
    outcome.decision.retry_after = Some(RETRY_WHEN_FULL);
    outcome.decision.reset_after = RETRY_WHEN_FULL;
    outcome.decision.bound_reset_after = RETRY_WHEN_FULL;
    // Each limit has no room.
    let full = |item: &Item<'_>| {
        let mut status = outcome.decision.only_status();
        status.limit = item.limit.capacity();
        status
    };
    op.report(op.items.iter().map(full));
    Ok(outcome)
}
