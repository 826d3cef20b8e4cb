//! What is remembered of operations that carried an id, so that a retry is answered and not done.

use std::collections::HashMap;

use crate::act::Act;
use crate::decision::Decision;
use crate::subject::Id;
use crate::time::Time;

/// The answers given under ids, for the keys of one store.
///
/// A scope is whatever the store uses to tell one key (policy and subjects) from another.
#[derive(Debug, Default)]
pub(crate) struct Remembered {
    /// None is empty.
    scopes: HashMap<Box<[u8]>, Answers>,
    /// How many answers there are in all of them.
    count: usize,
}

type Answers = HashMap<(Act, Box<[u8]>), Given>;

#[derive(Debug, Clone, Copy)]
struct Given {
    decision: Decision,
    until: Time,
}

impl Remembered {
    /// What the same operation was answered, if that is still remembered.
    pub(crate) fn answer(&self, scope: &[u8], act: Act, id: Id<'_>, now: Time) -> Option<Decision> {
        let answers = self.scopes.get(scope)?;
        let given = answers.get(&(act, id.as_bytes().into()))?;
        (now < given.until).then_some(given.decision)
    }

    pub(crate) fn remember(
        &mut self,
        scope: &[u8],
        act: Act,
        id: Id<'_>,
        decision: Decision,
        until: Time,
    ) {
        let given = Given { decision, until };
        let answers = self.scopes.entry(scope.into()).or_default();
        let known = answers.insert((act, id.as_bytes().into()), given).is_some();
        self.count = self.count.saturating_add(usize::from(!known));
    }

    /// Forgets an id, whatever was done under it.
    pub(crate) fn forget(&mut self, scope: &[u8], id: Id<'_>) {
        let Some(answers) = self.scopes.get_mut(scope) else { return };
        let before = answers.len();
        answers.retain(|(_, known), _| **known != *id.as_bytes());
        self.count = self.count.saturating_sub(before.saturating_sub(answers.len()));
        if answers.is_empty() {
            self.scopes.remove(scope);
        }
    }

    /// Forgets all ids of a key.
    pub(crate) fn forget_all(&mut self, scope: &[u8]) {
        let forgotten = self.scopes.remove(scope).map_or(0, |answers| answers.len());
        self.count = self.count.saturating_sub(forgotten);
    }

    /// Drops what is past.
    pub(crate) fn sweep(&mut self, now: Time) {
        self.scopes.retain(|_, answers| {
            answers.retain(|_, given| now < given.until);
            !answers.is_empty()
        });
        self.count = self.scopes.values().map(HashMap::len).sum();
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }
}
