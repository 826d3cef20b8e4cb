//! One policy on a plain store, for any key at any time.

use tollgate_core::{Act, Decision, Name, PlainStore, Policy, Request, Time};

pub(crate) struct TestPolicy {
    pub(crate) store: PlainStore,
    policy: Policy,
}

impl TestPolicy {
    pub(crate) fn new(lines: &[&str]) -> TestPolicy {
        let policy = Policy::parse(Name::default(), lines).unwrap();
        TestPolicy { store: PlainStore::default(), policy }
    }

    pub(crate) fn apply(
        &self,
        key: &str,
        act: Act,
        cost: u64,
        id: Option<&str>,
        micros: u64,
    ) -> Decision {
        let request = Request::of(key).cost(cost);
        let request = match id {
            Some(id) => request.id(id),
            None => request,
        };
        let at = Time::from_micros(micros).unwrap();
        let applied = request.with_op(&self.policy, act, |op| self.store.apply_one(op, at));
        applied.unwrap().unwrap()
    }
}
