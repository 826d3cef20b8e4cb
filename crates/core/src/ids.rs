//! What is remembered of operations that carried an id, so that a retry is answered and not done.

use std::collections::HashMap;

use crate::act::Act;
use crate::decision::Decision;
use crate::operation::Op;
use crate::policy::Outcome;
use crate::subject::{Id, write_part};
use crate::time::Time;

/// The answers given under ids: the part of the [contract](crate::Store) that [`decide`] leaves to
/// the store.
///
/// A store asks [`given`](IdempotencyCache::given) before it decides, tells the outcome to
/// [`note`](IdempotencyCache::note), and lets nobody in between the two.
///
/// [`decide`]: crate::decide
#[derive(Debug, Default)]
pub struct IdempotencyCache {
    /// None is empty.
    scopes: HashMap<Scope, Answers>,
    /// How many answers there are in all of them.
    count: usize,
}

/// Whose ids: a policy and all subjects of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Scope(Box<[u8]>);

type Answers = HashMap<(Act, Box<[u8]>), Given>;

#[derive(Debug, Clone, Copy)]
struct Given {
    decision: Decision,
    until: Time,
}

impl Op<'_> {
    /// Whose ids this operation may use or forget; `None` if it has nothing to do with ids.
    #[must_use]
    pub fn id_scope(&self) -> Option<Scope> {
        if self.id.is_none() && self.act != Act::Reset {
            return None;
        }
        let mut name = Vec::new();
        write_part(&mut name, self.policy.as_str().as_bytes());
        for subject in self.subjects() {
            subject.write_to(&mut name);
        }
        Some(Scope(name.into()))
    }
}

impl IdempotencyCache {
    /// What the same operation was answered, if that is still remembered.
    #[must_use]
    pub fn given(&self, scope: &Scope, op: &Op<'_>, now: Time) -> Option<Decision> {
        let id = op.id.filter(|_| op.act.is_remembered())?;
        let given = self.scopes.get(scope)?.get(&(op.act, id.as_bytes().into()))?;
        (now < given.until).then_some(given.decision)
    }

    /// Remembers the outcome of an operation, or forgets what it ended.
    pub fn note(&mut self, scope: Scope, op: &Op<'_>, outcome: Outcome) {
        match (op.act, op.id) {
            (Act::Reset, _) => self.forget_all(&scope),
            (Act::Release, Some(id)) => self.forget(&scope, id),
            _ => {}
        }
        if let (Some(id), Some(until)) = (op.id, outcome.remember_until) {
            self.remember(scope, op.act, id, Given { decision: outcome.decision, until });
        }
    }

    fn remember(&mut self, scope: Scope, act: Act, id: Id<'_>, given: Given) {
        let answers = self.scopes.entry(scope).or_default();
        let known = answers.insert((act, id.as_bytes().into()), given).is_some();
        self.count = self.count.saturating_add(usize::from(!known));
    }

    /// Forgets an id, whatever was done under it.
    fn forget(&mut self, scope: &Scope, id: Id<'_>) {
        let Some(answers) = self.scopes.get_mut(scope) else { return };
        let before = answers.len();
        answers.retain(|(_, known), _| **known != *id.as_bytes());
        self.count = self.count.saturating_sub(before.saturating_sub(answers.len()));
        if answers.is_empty() {
            self.scopes.remove(scope);
        }
    }

    /// Forgets all ids of a key.
    fn forget_all(&mut self, scope: &Scope) {
        let forgotten = self.scopes.remove(scope).map_or(0, |answers| answers.len());
        self.count = self.count.saturating_sub(forgotten);
    }

    /// Drops what is past.
    pub fn sweep(&mut self, now: Time) {
        self.scopes.retain(|_, answers| {
            answers.retain(|_, given| now < given.until);
            !answers.is_empty()
        });
        self.count = self.scopes.values().map(HashMap::len).sum();
    }

    /// How many answers are remembered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether nothing is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}
