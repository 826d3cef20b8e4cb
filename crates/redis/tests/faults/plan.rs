//! What is asked in these tests: some limits, whom they count, and an operation on them.

use std::fmt;

use tollgate_core::{Act, Id, Item, Key, Limit, Name, Op, Policy};

/// A policy, and the key of each kind of subject that it counts.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    policy: Policy,
    keys: Vec<(String, String)>,
}

/// One operation on a plan.
#[derive(Clone, Copy)]
pub(crate) struct Ask<'p> {
    plan: &'p Plan,
    act: Act,
    cost: u64,
    id: Option<&'p str>,
}

impl Plan {
    /// One limit over the nameless key.
    pub(crate) fn one(line: &str, key: &str) -> Plan {
        Plan::new(&[line], &[("", key)])
    }

    /// Limits, and the keys of the kinds they name.
    pub(crate) fn new(lines: &[&str], keys: &[(&str, &str)]) -> Plan {
        let policy = Policy::parse(Name::new("faults").unwrap(), lines).unwrap();
        let keys = keys.iter().map(|(kind, key)| ((*kind).to_owned(), (*key).to_owned()));
        Plan { policy, keys: keys.collect() }
    }

    pub(crate) fn items(&self) -> Vec<Item<'_>> {
        let key_of = |kind: Option<&str>| {
            let named = self.keys.iter().find(|(name, _)| name == kind.unwrap_or(""));
            named.map(|(_, key)| Key::new(key.as_bytes()).unwrap())
        };
        self.policy.items(key_of).unwrap()
    }

    /// The key of a kind of subject.
    pub(crate) fn of_kind(&self, kind: &str) -> String {
        let found = self.keys.iter().find(|(name, _)| name == kind);
        found.map(|(_, key)| key.clone()).unwrap()
    }

    pub(crate) fn ask(&self, act: Act, cost: u64) -> Ask<'_> {
        Ask { plan: self, act, cost, id: None }
    }

    pub(crate) fn check(&self) -> Ask<'_> {
        self.ask(Act::Check, 1)
    }

    pub(crate) fn peek(&self) -> Ask<'_> {
        self.ask(Act::Peek, 1)
    }
}

impl fmt::Debug for Ask<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits = self.plan.policy.limits().iter().map(Limit::to_string);
        let (limits, keys) = (limits.collect::<Vec<_>>().join(", "), &self.plan.keys);
        write!(f, "{} {} {:?} under {limits} for {keys:?}", self.act, self.cost, self.id)
    }
}

impl<'p> Ask<'p> {
    pub(crate) fn id(self, id: &'p str) -> Ask<'p> {
        Ask { id: Some(id), ..self }
    }

    pub(crate) fn items(&self) -> Vec<Item<'p>> {
        self.plan.items()
    }

    pub(crate) fn op<'a>(&self, items: &'a [Item<'a>]) -> Op<'a>
    where
        'p: 'a,
    {
        let id = self.id.map(|id| Id::new(id.as_bytes()).unwrap());
        Op { policy: self.plan.policy.name(), items, act: self.act, cost: self.cost, id }
    }
}
