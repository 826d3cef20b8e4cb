//! The decisions of operations with an id, so that a retry returns the first one and changes
//! nothing.

use std::collections::HashMap;

use crate::act::Act;
use crate::decide::Outcome;
use crate::decision::Decision;
use crate::operation::Op;
use crate::subject::{Id, write_field};
use crate::time::Time;

/// The decisions remembered by ids: the part of the [contract](crate::Store) that [`decide`] leaves
/// to the store.
///
/// A store calls [`get`](IdempotencyCache::get) before it decides and
/// [`record`](IdempotencyCache::record) afterwards. No other operation of the same scope may run
/// between the two.
///
/// [`decide`]: crate::storage::decide
#[derive(Debug, Default)]
pub struct IdempotencyCache {
    /// No inner map is empty.
    scopes: HashMap<Scope, Decisions>,
    /// Number of decisions in all scopes.
    count: usize,
}

/// What an id belongs to: the policy and all subjects of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Scope(Box<[u8]>);

impl Scope {
    pub(crate) fn of(op: &Op<'_>) -> Scope {
        let mut scope = Vec::new();
        write_field(&mut scope, op.policy.as_str().as_bytes());
        for subject in op.subjects() {
            subject.write_to(&mut scope);
        }
        Scope(scope.into())
    }
}

/// The decisions of one scope, by act and id.
type Decisions = HashMap<(Act, Box<[u8]>), Recorded>;

#[derive(Debug, Clone, Copy)]
struct Recorded {
    decision: Decision,
    expires: Time,
}

impl IdempotencyCache {
    /// Returns the decision of an earlier operation with the same id, if it is still remembered.
    #[must_use]
    pub fn get(&self, scope: &Scope, op: &Op<'_>, now: Time) -> Option<Decision> {
        let id = op.id.filter(|_| op.act.is_remembered())?;
        let recorded = self.scopes.get(scope)?.get(&(op.act, id.as_bytes().into()))?;
        (now < recorded.expires).then_some(recorded.decision)
    }

    /// Records the outcome of an operation, and forgets the ids that a release or reset ends.
    pub fn record(&mut self, scope: Scope, op: &Op<'_>, outcome: Outcome) {
        match (op.act, op.id) {
            (Act::Reset, _) => self.forget_all(&scope),
            (_, Some(id)) if outcome.forget_id => self.forget(&scope, id),
            _ => {}
        }
        if let (Some(id), Some(expires)) = (op.id, outcome.remember_until) {
            self.remember(scope, op.act, id, Recorded { decision: outcome.decision, expires });
        }
    }

    fn remember(&mut self, scope: Scope, act: Act, id: Id<'_>, recorded: Recorded) {
        let remembered = self.scopes.entry(scope).or_default();
        let known = remembered.insert((act, id.as_bytes().into()), recorded).is_some();
        self.count = self.count.saturating_add(usize::from(!known));
    }

    /// Forgets an id, for all operations.
    fn forget(&mut self, scope: &Scope, id: Id<'_>) {
        let Some(remembered) = self.scopes.get_mut(scope) else { return };
        let before = remembered.len();
        remembered.retain(|(_, known), _| **known != *id.as_bytes());
        self.count = self.count.saturating_sub(before.saturating_sub(remembered.len()));
        if remembered.is_empty() {
            self.scopes.remove(scope);
        }
    }

    /// Forgets all ids of a scope.
    fn forget_all(&mut self, scope: &Scope) {
        let forgotten = self.scopes.remove(scope).map_or(0, |remembered| remembered.len());
        self.count = self.count.saturating_sub(forgotten);
    }

    /// Drops the decisions that have expired.
    pub fn sweep(&mut self, now: Time) {
        self.scopes.retain(|_, remembered| {
            remembered.retain(|_, recorded| now < recorded.expires);
            !remembered.is_empty()
        });
        self.count = self.scopes.values().map(HashMap::len).sum();
    }

    /// Returns the number of remembered decisions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns whether no decision is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}
