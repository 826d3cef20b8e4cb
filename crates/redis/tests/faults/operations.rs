//! Operations for these tests: limits, the keys they count, and what is done to them.

use std::fmt;

use tollgate_core::{Act, Id, Item, Key, Limit, Name, Op, Policy};

/// A policy, and the key of each kind of subject that it counts.
#[derive(Debug, Clone)]
pub(crate) struct KeyedPolicy {
    policy: Policy,
    keys: Vec<(String, String)>,
}

/// One operation on the keys of a policy.
#[derive(Clone, Copy)]
pub(crate) struct Operation<'p> {
    on: &'p KeyedPolicy,
    act: Act,
    cost: u64,
    id: Option<&'p str>,
}

impl KeyedPolicy {
    /// Creates a policy of one limit over the nameless key.
    pub(crate) fn one(line: &str, key: &str) -> KeyedPolicy {
        KeyedPolicy::new(&[line], &[("", key)])
    }

    /// Creates a policy, with the keys of the kinds of subjects that its limits name.
    pub(crate) fn new(lines: &[&str], keys: &[(&str, &str)]) -> KeyedPolicy {
        let policy = Policy::parse(Name::new("faults").unwrap(), lines).unwrap();
        let keys = keys.iter().map(|(kind, key)| ((*kind).to_owned(), (*key).to_owned()));
        KeyedPolicy { policy, keys: keys.collect() }
    }

    pub(crate) fn items(&self) -> Vec<Item<'_>> {
        let key_of = |kind: Option<&str>| {
            let named = self.keys.iter().find(|(name, _)| name == kind.unwrap_or(""));
            named.map(|(_, key)| Key::new(key.as_bytes()).unwrap())
        };
        self.policy.items(key_of).unwrap()
    }

    /// Returns the key of a kind of subject.
    pub(crate) fn key_of(&self, kind: &str) -> String {
        let found = self.keys.iter().find(|(name, _)| name == kind);
        found.map(|(_, key)| key.clone()).unwrap()
    }

    pub(crate) fn operation(&self, act: Act, cost: u64) -> Operation<'_> {
        Operation { on: self, act, cost, id: None }
    }

    pub(crate) fn check(&self) -> Operation<'_> {
        self.operation(Act::Check, 1)
    }

    pub(crate) fn peek(&self) -> Operation<'_> {
        self.operation(Act::Peek, 1)
    }
}

impl fmt::Debug for Operation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits = self.on.policy.limits().iter().map(Limit::to_string);
        let (limits, keys) = (limits.collect::<Vec<_>>().join(", "), &self.on.keys);
        write!(f, "{} {} {:?} under {limits} for {keys:?}", self.act, self.cost, self.id)
    }
}

impl<'p> Operation<'p> {
    pub(crate) fn id(self, id: &'p str) -> Operation<'p> {
        Operation { id: Some(id), ..self }
    }

    pub(crate) fn items(&self) -> Vec<Item<'p>> {
        self.on.items()
    }

    pub(crate) fn op<'a>(&self, items: &'a [Item<'a>]) -> Op<'a>
    where
        'p: 'a,
    {
        let id = self.id.map(|id| Id::new(id.as_bytes()).unwrap());
        Op { policy: self.on.policy.name(), items, act: self.act, cost: self.cost, id }
    }
}
