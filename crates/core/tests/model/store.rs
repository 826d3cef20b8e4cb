//! Compares a store with the reference model.

use tollgate_core::{Act, Apply, Id, Key, Limit, Name, Op, Policy, Span, Store, StoreError, Time};
use tollgate_model::random::{Algorithm, System, compare};
use tollgate_model::{Answer, Operation, Step, TooMuch};

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
    policy: Policy,
}

impl<S: Store> OneKey<S> {
    fn new(store: S, lines: &[String]) -> OneKey<S> {
        let limits = lines.iter().map(|line| line.parse::<Limit>().expect("a valid line"));
        let policy = Policy::new(Name::new("model").unwrap(), limits.collect());
        OneKey { store, policy }
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

impl<S: Store> System for OneKey<S> {
    fn apply(&mut self, step: &Step) -> Result<Answer, TooMuch> {
        let items = self.policy.items(|_| Key::new(b"key").ok()).unwrap();
        let op = Op {
            policy: self.policy.name(),
            items: &items,
            act: act(step.op),
            cost: step.cost,
            id: step.id.as_ref().map(|id| Id::new(id.as_bytes()).unwrap()),
        };
        let mut out = [Err(StoreError::unanswered())];
        let at = Some(Time::from_micros(step.t).unwrap());
        assert!(matches!(self.store.apply(&[op], at, &mut out), Apply::Ready));
        let [decision] = out;
        let decision = decision.map_err(|error: StoreError| {
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
}
