//! One key of the store under test, and what its operations return.

use proptest::test_runner::TestCaseError;

use super::generate::Step;
use super::{Suite, expect_ok};
use crate::{
    Act, Decision, Id, Item, Key, Limit, LimitStatus, LimitStatuses, Name, Op, StoreError, Subject,
    Time,
};

/// One key, under any limits.
pub(super) struct TestKey<'s> {
    pub(super) suite: &'s Suite<'s>,
    pub(super) key: String,
}

/// What an operation returned.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Applied {
    pub(super) decision: Decision,
    /// The status of each limit; none if the decision was remembered.
    pub(super) statuses: Vec<LimitStatus>,
}

impl Applied {
    /// Creates it from a decision and the statuses that were asked for. The decision of a single
    /// limit has the numbers of its status.
    pub(super) fn of(decision: Decision, asked: Option<&LimitStatuses>) -> Applied {
        let statuses = asked.map_or_else(|| vec![decision.only_status()], LimitStatuses::to_vec);
        Applied { decision, statuses }
    }

    pub(super) fn allowed(&self) -> bool {
        self.decision.allowed
    }
}

pub(super) fn policy_name() -> Name {
    Name::new("contract").expect("a valid name")
}

/// Returns where to put the statuses of these limits. Only several limits are asked for them: the
/// decision of a single one has the same numbers, and stores may have a faster way for callers that
/// do not ask.
pub(super) fn asked<'a>(
    limits: &[Limit],
    statuses: &'a LimitStatuses,
) -> Option<&'a LimitStatuses> {
    (limits.len() > 1).then_some(statuses)
}

pub(super) fn op<'a>(
    policy: &'a Name,
    items: &'a [Item<'a>],
    step: &Step,
    statuses: Option<&'a LimitStatuses>,
) -> Op<'a> {
    let id = step.id.and_then(|id| Id::new(id.as_bytes()).ok());
    Op { act: step.act, id, statuses, ..Op::check(policy, items) }
}

impl TestKey<'_> {
    pub(super) fn subject(&self) -> Subject<'_> {
        Key::new(self.key.as_bytes()).expect("a short key").into()
    }

    pub(super) fn items<'a>(&'a self, limits: &'a [Limit], step: &Step) -> Vec<Item<'a>> {
        let subject = self.subject();
        let item = |(position, limit)| Item { limit, subject, cost: step.cost_at(position) };
        limits.iter().enumerate().map(item).collect()
    }

    pub(super) fn apply(
        &self,
        limits: &[Limit],
        step: &Step,
        at: Time,
    ) -> Result<Applied, StoreError> {
        let statuses = LimitStatuses::default();
        let asked = asked(limits, &statuses);
        self.decide(limits, step, at, asked).map(|decision| Applied::of(decision, asked))
    }

    pub(super) fn decide(
        &self,
        limits: &[Limit],
        step: &Step,
        at: Time,
        statuses: Option<&LimitStatuses>,
    ) -> Result<Decision, StoreError> {
        let (policy, items) = (policy_name(), self.items(limits, step));
        let results = self.suite.apply(&[op(&policy, &items, step, statuses)], at);
        results.into_iter().next().unwrap_or_else(|| Err(StoreError::unanswered()))
    }

    /// Peeks with one cost for all limits.
    pub(super) fn peek(
        &self,
        limits: &[Limit],
        cost: u64,
        at: Time,
    ) -> Result<Applied, TestCaseError> {
        expect_ok(self.apply(limits, &Step::new(Act::Peek, cost), at))
    }
}
