//! One policy on a plain store, for any key at any time.

use tollgate_core::{Act, Decision, Id, Key, Name, Op, PlainStore, Policy, Time};

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
        let items = self.policy.items(|_| Key::new(key.as_bytes()).ok()).unwrap();
        let id = id.map(|id| Id::new(id.as_bytes()).unwrap());
        let op = Op { policy: self.policy.name(), items: &items, act, cost, id };
        self.store.apply_one(&op, Time::from_micros(micros).unwrap()).unwrap()
    }
}
