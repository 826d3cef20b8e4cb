//! The core against the reference model, which decides from the full history of a key and shares
//! no code with it.
//!
//! `TOLLGATE_OPERATIONS` sets how many random operations each algorithm gets, and `TOLLGATE_SEED`
//! which.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

use tollgate_core::{Act, Id, Key, Limit, Name, Op, PlainStore, Policy, Span, StoreError, Time};
use tollgate_model::random::{Algorithm, System, compare};
use tollgate_model::{Answer, Operation, Step, TooMuch};

/// Operations for each algorithm in an ordinary run.
const OPERATIONS: u64 = 200_000;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// One key of a plain store.
struct Core {
    store: PlainStore,
    policy: Policy,
}

impl Core {
    fn new(lines: &[String]) -> Core {
        let limits = lines.iter().map(|line| line.parse::<Limit>().expect("a right line"));
        let policy = Policy::new(Name::new("model").unwrap(), limits.collect());
        Core { store: PlainStore::default(), policy }
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

impl System for Core {
    fn apply(&mut self, step: &Step) -> Result<Answer, TooMuch> {
        let items = self.policy.items(|_| Key::new(b"key").ok()).unwrap();
        let op = Op {
            policy: self.policy.name(),
            items: &items,
            act: act(step.op),
            cost: step.cost,
            id: step.id.as_ref().map(|id| Id::new(id.as_bytes()).unwrap()),
        };
        let decision = self.store.answer(&op, Time::from_micros(step.t).unwrap());
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

fn hold(algorithm: Algorithm) {
    let operations = setting("TOLLGATE_OPERATIONS", OPERATIONS);
    let seed = setting("TOLLGATE_SEED", 1);
    let tally = compare(seed, algorithm, operations, |lines| Box::new(Core::new(lines)));
    println!("{}: {tally:?}", algorithm.name());
    tally.assert_covers();
}

tollgate_model::test_each_algorithm!(hold);
