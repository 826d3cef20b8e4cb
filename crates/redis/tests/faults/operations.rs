//! Operations for these tests: limits, the keys they count, and what is done to them.

use std::fmt;

use tollgate_core::{Act, Item, Items, Limit, Name, Op, Policy, Request};

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
    /// The cost of the limits without one of their own.
    cost: u64,
    /// The costs of the first limits.
    costs: &'p [u64],
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

    /// Returns the key of a kind of subject.
    pub(crate) fn key_of(&self, kind: &str) -> String {
        let found = self.keys.iter().find(|(name, _)| name == kind);
        found.map(|(_, key)| key.clone()).unwrap()
    }

    pub(crate) fn operation(&self, act: Act, cost: u64) -> Operation<'_> {
        Operation { on: self, act, cost, costs: &[], id: None }
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
        let (act, cost, costs, id) = (self.act, self.cost, self.costs, self.id);
        write!(f, "{act} {cost} {costs:?} {id:?} under {limits} for {keys:?}")
    }
}

impl<'p> Operation<'p> {
    pub(crate) fn id(self, id: &'p str) -> Operation<'p> {
        Operation { id: Some(id), ..self }
    }

    /// Sets the costs of the first limits.
    pub(crate) fn costs(self, costs: &'p [u64]) -> Operation<'p> {
        Operation { costs, ..self }
    }

    pub(crate) fn request(&self) -> Request<'p> {
        let keys = self.on.keys.iter();
        let request = keys.fold(Request::new(), |request, (kind, key)| request.subject(kind, key));
        self.id.map_or(request.clone(), |id| request.id(id))
    }

    pub(crate) fn items<'a>(&'a self, request: &'a Request<'_>) -> Items<'a> {
        let mut items = request.items(self.on.policy.limits()).unwrap();
        let costs = self.costs.iter().copied().chain(std::iter::repeat(self.cost));
        items.iter_mut().zip(costs).for_each(|(item, cost)| item.cost = cost);
        items
    }

    pub(crate) fn op<'a>(&'a self, request: &'a Request<'_>, items: &'a [Item<'a>]) -> Op<'a> {
        request.op(self.on.policy.name(), items, self.act).unwrap()
    }
}
