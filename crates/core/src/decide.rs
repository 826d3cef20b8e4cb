//! Decides an operation over the states of its limits.

use crate::act::Act;
use crate::decision::{Decision, DecisionBuilder};
use crate::error::{Overdrawn, StoreError};
use crate::operation::{Item, Op};
use crate::rule::{Command, Handle, State};
use crate::storage::ID_TTL;
use crate::time::Time;

/// A decision, and how long it is to be remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// The decision.
    pub decision: Decision,
    /// Until when the same operation with the same id returns this decision. `None` if it changed
    /// no count, was not allowed, or is meant to be repeated. A settle is remembered if it found its
    /// reservation, also if it changed no count. One that took leases returns this decision only while
    /// they are held: see [`OpStorage::takes_leases`](crate::storage::OpStorage::takes_leases).
    pub remember_until: Option<Time>,
    /// Whether the id is to be forgotten, because a lease was released under it.
    pub forget_id: bool,
}

impl Outcome {
    /// Returns the outcome of a check of a cost above zero, which has taken it if it is allowed.
    #[must_use]
    pub fn of_check(op: &Op<'_>, decision: Decision, now: Time) -> Outcome {
        let is_remembered = decision.allowed && op.id.is_some();
        let remember_until = is_remembered.then(|| now.after(ID_TTL));
        Outcome { decision, remember_until, forget_id: false }
    }

    /// Returns the outcome of a release that has given a lease back.
    #[must_use]
    pub fn of_release(decision: Decision) -> Outcome {
        Outcome { decision, remember_until: None, forget_id: true }
    }
}

/// Decides one operation over the states of its limits, in order, and changes them.
///
/// A store in this process calls this for every operation, except where
/// [`LimitStorage::check_words`](crate::storage::LimitStorage::check_words) or
/// [`LimitStorage::check_word`](crate::storage::LimitStorage::check_word) is a faster way to the same decision. A store
/// that decides outside this process, such as a script in Redis, repeats its rules. Tests hold them
/// all to the same decisions. `handle` is what the leases and reservations of the operation's id are
/// found by, a hash that the store makes with
/// [`OpStorage::hash_handle`](crate::storage::OpStorage::hash_handle). Remembering ids is left to the
/// store; see [`IdempotencyCache`](crate::storage::IdempotencyCache).
///
/// ```
/// use tollgate_core::storage::decide;
/// use tollgate_core::{Act, Name, Policy, Request, Time};
///
/// let policy = Policy::parse(Name::default(), ["gcra 1/s burst 1"])?;
/// let mut states = [None];
/// let mut check = || {
///     Request::of("a").with_op(&policy, Act::Check, |op| decide(op, None, &mut states, Time::EPOCH))
/// };
/// assert!(check()??.decision.allowed);
/// assert!(!check()??.decision.allowed);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Fails if the operation is malformed, the debt would be too large, or there is not one state for
/// each item. No state has changed then.
pub fn decide(
    op: &Op<'_>,
    handle: Option<Handle>,
    states: &mut [Option<State>],
    now: Time,
) -> Result<Outcome, StoreError> {
    op.validate()?;
    if op.items.len() != states.len() {
        return Err(StoreError::malformed("expected one state for each limit"));
    }
    let Verdict { allowed, acts } = Verdict::of(op, handle, states, now);
    let changed = acts && apply_all(op, handle, states, now, allowed)?;
    if let Some(statuses) = op.statuses {
        // A store may decide twice.
        statuses.clear();
    }
    let mut decision = DecisionBuilder::new(allowed);
    for (item, state) in op.items.iter().zip(states.iter()) {
        let status = item.limit.rule().status(state.as_ref(), now, item.cost);
        decision.add(status);
        if let Some(statuses) = op.statuses {
            statuses.push(status);
        }
    }
    let mut decision = decision.build();
    decision.not_found = op.act.is_follow_up() && !allowed;
    let settled = acts && op.act == Act::Settle;
    let remember = (changed || settled) && allowed && op.act.is_remembered();
    let remember_until = remember.then(|| now.after(ID_TTL));
    Ok(Outcome { decision, remember_until, forget_id: acts && op.act == Act::Release })
}

/// What is to be done.
struct Verdict {
    allowed: bool,
    /// Whether the operation has anything to act on. A denied check has: limits that count denied
    /// attempts.
    acts: bool,
}

impl Verdict {
    fn of(op: &Op<'_>, handle: Option<Handle>, states: &[Option<State>], now: Time) -> Verdict {
        if op.act.is_follow_up() {
            return Verdict::of_follow_up(op, handle.unwrap_or_default(), states, now);
        }
        let fits = |(item, state): (&Item<'_>, &Option<State>)| {
            item.limit.rule().fits(state.as_ref(), now, item.cost)
        };
        let allowed = !op.act.can_be_denied() || op.items.iter().zip(states).all(fits);
        Verdict { allowed, acts: true }
    }

    /// A lease is renewed in all limits or in none; the others act wherever they find something. A
    /// limit that is switched off has nothing to be found, and nothing is missed.
    fn of_follow_up(op: &Op<'_>, handle: Handle, states: &[Option<State>], now: Time) -> Verdict {
        let (mut any, mut all) = (false, true);
        for (item, state) in op.items.iter().zip(states) {
            if let Some(found) = item.limit.rule().finds(state.as_ref(), op.act, now, handle) {
                any |= found;
                all &= found;
            }
        }
        Verdict { allowed: all, acts: any && (all || op.act != Act::Renew) }
    }
}

/// Applies the operation to every limit. If one fails, all are restored.
fn apply_all(
    op: &Op<'_>,
    handle: Option<Handle>,
    states: &mut [Option<State>],
    now: Time,
    allowed: bool,
) -> Result<bool, Overdrawn> {
    let counts_denied = || op.items.iter().any(|item| item.limit.counts_denied());
    let can_fail = matches!(op.act, Act::Charge | Act::Settle) || (!allowed && counts_denied());
    // A single limit restores its own state.
    let before = (can_fail && op.items.len() > 1).then(|| states.to_vec());
    let mut changed = false;
    for (item, state) in op.items.iter().zip(states.iter_mut()) {
        let command = Command {
            act: op.act,
            now,
            cost: item.cost,
            handle,
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
