//! Compares a store with the reference model.

use tollgate_core::{
    Act, Apply, Decision, Id, Item, Key, Limit, LimitStatus, LimitStatuses, Name, Op, Span, Store,
    StoreError, Time,
};
use tollgate_model::random::{Algorithm, System, compare};
use tollgate_model::{Answer, LimitAnswer, Operation, Step, TooMuch};

/// Default number of operations for each algorithm.
const OPERATIONS: u64 = 200_000;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Compares a store, created anew for every policy, with the model.
pub(crate) fn compare_with_model<S: Store + 'static>(algorithm: Algorithm, store: fn() -> S) {
    let operations = setting("TOLLGATE_OPERATIONS", OPERATIONS);
    let seed = setting("TOLLGATE_SEED", 1);
    let tally = compare(seed, algorithm, operations, |lines| Box::new(OneKey::new(store(), lines)));
    println!("{}: {tally:?}", algorithm.name());
    tally.assert_covers();
}

/// One key of a store that returns [`Apply::Ready`].
struct OneKey<S> {
    store: S,
    policy: Name,
    limits: Vec<Limit>,
    /// The statuses of the last operation. Every second operation asks for them: it may be decided
    /// in another way than one that does not.
    statuses: Option<LimitStatuses>,
}

impl<S: Store> OneKey<S> {
    fn new(store: S, lines: &[String]) -> OneKey<S> {
        let limits = lines.iter().map(|line| line.parse().expect("a valid line")).collect();
        OneKey { store, policy: Name::new("model").unwrap(), limits, statuses: None }
    }

    fn apply_op(&self, step: &Step) -> Result<Decision, StoreError> {
        let subject = Key::new(b"key").unwrap().into();
        let items = self.limits.iter().zip(&step.costs);
        let items = items.map(|(limit, &cost)| Item { limit, subject, cost });
        let items: Vec<Item<'_>> = items.collect();
        let mut op = Op::check(&self.policy, &items).with_act(act(step.op));
        op.id = step.id.as_ref().map(|id| Id::new(id.as_bytes()).unwrap());
        op.statuses = self.statuses.as_ref();
        let mut out = [Err(StoreError::unanswered())];
        let at = Some(Time::from_micros(step.t).unwrap());
        assert!(matches!(self.store.apply(&[op], at, &mut out), Apply::Ready));
        let [result] = out;
        result
    }
}

fn act(operation: Operation) -> Act {
    match operation {
        Operation::Check => Act::Check,
        Operation::Peek => Act::Peek,
        Operation::Refund => Act::Refund,
        Operation::Charge => Act::Charge,
        Operation::Reset => Act::Reset,
        Operation::Reserve => Act::Reserve,
        Operation::Settle => Act::Settle,
        Operation::Release => Act::Release,
        Operation::Renew => Act::Renew,
    }
}

fn limit_answer(status: LimitStatus) -> LimitAnswer {
    LimitAnswer {
        limit: status.limit,
        remaining: status.remaining,
        retry_after: status.retry_after.map(Span::as_micros),
        reset_after: status.reset_after.as_micros(),
    }
}

impl<S: Store> System for OneKey<S> {
    fn apply(&mut self, step: &Step) -> Result<Answer, TooMuch> {
        self.statuses = self.statuses.is_none().then(LimitStatuses::default);
        let decision = self.apply_op(step).map_err(|error| {
            assert!(error.is_overdrawn(), "{error}");
            TooMuch
        })?;
        Ok(Answer {
            allowed: decision.allowed,
            limit: decision.limit,
            remaining: decision.remaining,
            retry_after: decision.retry_after.map(Span::as_micros),
            reset_after: decision.reset_after.as_micros(),
            bound_by: decision.bound_by,
        })
    }

    fn limit_answers(&self) -> Option<Vec<LimitAnswer>> {
        let statuses = self.statuses.as_ref()?.to_vec();
        Some(statuses.into_iter().map(limit_answer).collect())
    }
}
