//! Limits that are checked together, all or nothing.

use std::fmt;

use crate::act::Act;
use crate::decision::{Decision, DecisionBuilder};
use crate::error::{LimitError, Overdrawn, StoreError};
use crate::limit::Limit;
use crate::operation::{Item, Op};
use crate::rule::{Command, State};
use crate::subject::{Key, Name, Subject};
use crate::time::{Span, Time};

/// A named, ordered list of limits.
///
/// ```
/// use tollgate_core::{Name, Policy};
///
/// let login = Policy::parse(
///     Name::new("login")?,
///     ["sliding-counters 1/5s resolution 1s per ip", "fixed-window 100/day per user"],
/// )?;
/// assert_eq!(login.limits().len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    name: Name,
    limits: Vec<Limit>,
}

impl Policy {
    /// A policy of these limits. Without any it allows everything.
    #[must_use]
    pub fn new(name: Name, limits: Vec<Limit>) -> Policy {
        Policy { name, limits }
    }

    /// A policy of these limit lines.
    ///
    /// # Errors
    /// The first line that is not a limit.
    pub fn parse<L: AsRef<str>>(
        name: Name,
        lines: impl IntoIterator<Item = L>,
    ) -> Result<Policy, LimitError> {
        let limits =
            lines.into_iter().map(|line| line.as_ref().parse()).collect::<Result<_, _>>()?;
        Ok(Policy { name, limits })
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Its limits, in command.
    #[must_use]
    pub fn limits(&self) -> &[Limit] {
        &self.limits
    }

    /// Each limit with the subject it counts. `key_of` finds the key of a kind of subject; `None`
    /// asks for the nameless one.
    ///
    /// # Errors
    /// The first subject that has no key.
    pub fn items<'a>(
        &'a self,
        mut key_of: impl FnMut(Option<&'a str>) -> Option<Key<'a>>,
    ) -> Result<Vec<Item<'a>>, MissingKey> {
        self.limits.iter().map(|limit| limit.item(&mut key_of)).collect()
    }
}

impl Limit {
    /// The limit with the subject it counts, as in [`Policy::items`].
    ///
    /// # Errors
    /// If the subject has no key.
    pub fn item<'a>(
        &'a self,
        key_of: impl FnOnce(Option<&'a str>) -> Option<Key<'a>>,
    ) -> Result<Item<'a>, MissingKey> {
        let kind = self.per();
        let key = match kind.map(Name::as_str) {
            Some(Name::ALL) => Some(Key::EVERYONE),
            name => key_of(name),
        };
        let key = key.ok_or_else(|| MissingKey(kind.cloned()))?;
        Ok(Item { limit: self, subject: Subject { kind, key } })
    }
}

/// A limit counts a subject for which no key was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingKey(Option<Name>);

impl fmt::Display for MissingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(kind) => write!(f, "a limit counts per {kind}, but no {kind} is given"),
            None => f.write_str("a limit counts the nameless key, but none is given"),
        }
    }
}

impl std::error::Error for MissingKey {}

/// How long an operation that took or gave something is remembered by its id.
const REMEMBERED: Span = Span::from_micros(60_000_000);

/// A decision, and how long it is to be remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// The answer.
    pub decision: Decision,
    /// Until when the same operation with the same id is answered with it; `None` if it changed no
    /// count, was denied, or is meant to be repeated. A lease is remembered no longer than it lasts:
    /// once it has ended, whoever says to hold it must ask again.
    pub remember_until: Option<Time>,
}

/// Decides one operation over the states of its limits, in their command, and changes them.
///
/// This is the only place where limits become decisions; every store calls it, or does the same.
/// What an id remembers is the store's part, since only it can keep it.
///
/// ```
/// use tollgate_core::{Act, Key, Name, Op, Policy, Time, decide};
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
/// If the debt would be too large, or there is not one state for each item. Then no state has
/// changed.
pub fn decide(op: &Op<'_>, states: &mut [Option<State>], now: Time) -> Result<Outcome, StoreError> {
    if let Some(flaw) = op.flaw() {
        return Err(StoreError::malformed(flaw));
    }
    if op.items.len() != states.len() {
        return Err(StoreError::malformed("not one state for each limit"));
    }
    let fits = |(item, state): (&Item<'_>, &Option<State>)| {
        item.limit.rule().fits(state.as_ref(), now, op.cost)
    };
    let allowed = !op.act.can_be_denied() || op.items.iter().zip(states.iter()).all(fits);
    let changed = apply_all(op, states, now, allowed)?;
    let mut decision = DecisionBuilder::new(allowed);
    for (item, state) in op.items.iter().zip(states.iter()) {
        decision.add(item.limit.rule().answer(state.as_ref(), now, op.cost));
    }
    let remember = changed && allowed && op.act.is_remembered();
    let remember_until = remember.then(|| now.after(remembered(op)));
    Ok(Outcome { decision: decision.decision(), remember_until })
}

/// How long an answer is remembered, if it is.
pub(crate) fn remembered(op: &Op<'_>) -> Span {
    let takes = matches!(op.act, Act::Check | Act::Reserve | Act::Charge);
    let leases = op.items.iter().filter_map(|item| item.limit.rule().ttl()).filter(|_| takes);
    leases.fold(REMEMBERED, Span::min)
}

/// Tells every limit what to do. If one cannot, all are as they were.
fn apply_all(
    op: &Op<'_>,
    states: &mut [Option<State>],
    now: Time,
    allowed: bool,
) -> Result<bool, Overdrawn> {
    let counts_denied = || op.items.iter().any(|item| item.limit.counts_denied());
    let can_fail = matches!(op.act, Act::Charge | Act::Settle) || (!allowed && counts_denied());
    // One limit alone leaves its state as it was by itself.
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
