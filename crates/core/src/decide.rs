//! Decides an operation over the states of its limits.

use crate::act::Act;
use crate::decision::{Decision, DecisionBuilder};
use crate::error::{Overdrawn, StoreError};
use crate::operation::{Item, Op};
use crate::rule::{Command, State};
use crate::time::Time;

/// A decision, and how long it is to be remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// The decision.
    pub decision: Decision,
    /// Until when the same operation with the same id returns this decision. `None` if it changed
    /// no count, was denied, or is meant to be repeated. A lease is remembered no longer than it
    /// lasts, so that its holder has to check again once it has ended.
    pub remember_until: Option<Time>,
}

/// Decides one operation over the states of its limits, in order, and changes them.
///
/// A store in this process calls this for every operation, except where
/// [`Limit::check_words`](crate::Limit::check_words) or
/// [`Limit::check_word`](crate::Limit::check_word) is a faster way to the same decision. A store
/// that decides outside this process, such as a script in Redis, repeats its rules. Tests hold them
/// all to the same decisions. Remembering ids is left to the store; see
/// [`IdempotencyCache`](crate::storage::IdempotencyCache).
///
/// ```
/// use tollgate_core::storage::decide;
/// use tollgate_core::{Act, Key, Name, Op, Policy, Time};
///
/// let policy = Policy::parse(Name::default(), ["gcra 1/s burst 1"])?;
/// let items = policy.items(|_| Key::new(b"a").ok())?;
/// let check = Op { policy: policy.name(), items: &items, act: Act::Check, cost: 1, id: None };
///
/// let mut states = [None];
/// assert!(decide(&check, &mut states, Time::EPOCH)?.decision.allowed);
/// assert!(!decide(&check, &mut states, Time::EPOCH)?.decision.allowed);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Fails if the operation is malformed, the debt would be too large, or there is not one state for
/// each item. No state has changed then.
pub fn decide(op: &Op<'_>, states: &mut [Option<State>], now: Time) -> Result<Outcome, StoreError> {
    op.validate()?;
    if op.items.len() != states.len() {
        return Err(StoreError::malformed("expected one state for each limit"));
    }
    let fits = |(item, state): (&Item<'_>, &Option<State>)| {
        item.limit.rule().fits(state.as_ref(), now, op.cost)
    };
    let allowed = !op.act.can_be_denied() || op.items.iter().zip(states.iter()).all(fits);
    let changed = apply_all(op, states, now, allowed)?;
    let mut decision = DecisionBuilder::new(allowed);
    for (item, state) in op.items.iter().zip(states.iter()) {
        decision.add(item.limit.rule().status(state.as_ref(), now, op.cost));
    }
    let remember = changed && allowed && op.act.is_remembered();
    let remember_until = remember.then(|| now.after(op.id_ttl()));
    Ok(Outcome { decision: decision.build(), remember_until })
}

/// Applies the operation to every limit. If one fails, all are restored.
fn apply_all(
    op: &Op<'_>,
    states: &mut [Option<State>],
    now: Time,
    allowed: bool,
) -> Result<bool, Overdrawn> {
    let counts_denied = || op.items.iter().any(|item| item.limit.counts_denied());
    let can_fail = matches!(op.act, Act::Charge | Act::Settle) || (!allowed && counts_denied());
    // A single limit restores its own state.
    let before = (can_fail && op.items.len() > 1).then(|| states.to_vec());
    let handle = op.handle();
    let mut changed = false;
    for (item, state) in op.items.iter().zip(states.iter_mut()) {
        let command = Command {
            act: op.act,
            now,
            cost: op.cost,
            handle: handle.as_deref(),
            allowed,
            can_fail,
            count_denied: item.limit.counts_denied(),
        };
        match item.limit.rule().apply(state, &command) {
            Ok(took) => changed |= took,
            Err(overdrawn) => {
                if let Some(before) = before {
                    states.clone_from_slice(&before);
                }
                return Err(overdrawn);
            }
        }
    }
    Ok(changed)
}
