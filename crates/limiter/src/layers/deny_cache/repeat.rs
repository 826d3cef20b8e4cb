//! Which denials can be repeated, and for how long they are right.

use tollgate_core::{Act, Decision, Item, Op, Source, Span, StoreError};

/// Returns the wait of a denial in microseconds; "never" is the greatest.
pub(super) fn wait(decision: &Decision) -> u64 {
    decision.retry_after.map_or(u64::MAX, Span::as_micros)
}

/// Returns whether the denial of an operation can be repeated: not under an id, which may be remembered; not
/// if the attempt itself counts; not for leases, which are released at any time.
pub(super) fn is_repeatable(op: &Op<'_>) -> bool {
    let repeats = |item: &Item<'_>| !item.limit.counts_denied() && !item.limit.gives_leases();
    op.act == Act::Check && op.id.is_none() && op.statuses.is_none() && op.items.iter().all(repeats)
}

/// Returns the denial that an answer implies for the next check of the same cost.
///
/// Only if what remains is the cost less one: nothing in the answer but the waits can change then until the
/// key passes. The limit that binds cannot have more without letting the check pass, and none has less. A
/// check that was allowed and leaves as little implies the next denial, if there is one limit: of several,
/// another may bind.
pub(super) fn denial_from(op: &Op<'_>, decision: &Decision) -> Option<Decision> {
    let cost = op.items.get(decision.bound_by)?.cost;
    let is_tight = cost > 0 && decision.remaining == cost.checked_sub(1);
    let implies = !decision.allowed || op.items.len() == 1;
    let denied = is_tight && implies && wait(decision) > 0 && !decision.degraded;
    let mut denial = decision.with_source(Source::Cache);
    denial.allowed = false;
    denied.then_some(denial)
}

/// Returns whether an operation changes states even if it is not known yet what it returns.
pub(super) fn changes_for_sure(op: &Op<'_>) -> bool {
    !matches!(op.act, Act::Check | Act::Peek)
}

/// Returns whether an operation may have changed the states of its subjects. After an error that is not known.
pub(super) fn may_have_changed(op: &Op<'_>, answer: &Result<Decision, StoreError>) -> bool {
    match (op.act, answer) {
        (Act::Peek, _) => false,
        (Act::Check, Ok(decision)) => {
            let counts = |item: &Item<'_>| item.limit.counts_denied();
            decision.allowed || op.items.iter().any(counts)
        }
        (_, Err(error)) => error.is_unavailable(),
        _ => true,
    }
}
