//! What is remembered of operations that carried an id, so that a retry is answered and not done.

use std::collections::HashMap;

use crate::act::Act;
use crate::decision::Decision;
use crate::rule::REMEMBERED;
use crate::subject::Id;
use crate::time::Time;

/// The answers given under ids, for the keys of one store.
///
/// A scope is whatever the store uses to tell one key (policy and subjects) from another.
#[derive(Debug, Default)]
pub(crate) struct Remembered {
    scopes: HashMap<Box<[u8]>, Answers>,
}

type Answers = HashMap<(Act, Box<[u8]>), Given>;

#[derive(Debug, Clone, Copy)]
struct Given {
    decision: Decision,
    until: Time,
}

impl Remembered {
    /// What the same operation was answered, if that is less than a minute ago.
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
        now: Time,
    ) {
        let given = Given { decision, until: now.after(REMEMBERED) };
        let answers = self.scopes.entry(scope.into()).or_default();
        answers.insert((act, id.as_bytes().into()), given);
    }

    /// Forgets an id, whatever was done under it.
    pub(crate) fn forget(&mut self, scope: &[u8], id: Id<'_>) {
        if let Some(answers) = self.scopes.get_mut(scope) {
            answers.retain(|(_, known), _| **known != *id.as_bytes());
        }
    }

    /// Forgets all ids of a key.
    pub(crate) fn forget_all(&mut self, scope: &[u8]) {
        self.scopes.remove(scope);
    }

    /// Drops what is past.
    pub(crate) fn sweep(&mut self, now: Time) {
        self.scopes.retain(|_, answers| {
            answers.retain(|_, given| now < given.until);
            !answers.is_empty()
        });
    }

    pub(crate) fn len(&self) -> usize {
        self.scopes.values().map(HashMap::len).sum()
    }
}
