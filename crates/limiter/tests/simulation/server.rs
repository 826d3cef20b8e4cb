//! The store that all nodes share, and a book of all that it did.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tollgate::{
    Act, Apply, Clock, Decision, Limit, LimitStatus, LimitStatuses, MemoryStore, Name, Source,
    Span, Store as _, StoreError,
};

use crate::limits::Rule;
use crate::plan::Plan;
use crate::sabotage::Sabotage;
use crate::trace::{Booking, Operation};

/// The name of the only policy.
pub(crate) const POLICY: &str = "simulated";

/// The answer to one operation, and the status of each limit.
pub(crate) type Reply = (Result<Decision, StoreError>, Vec<LimitStatus>);

/// A store in memory with the true time.
pub(crate) struct Server {
    clock: Clock,
    policy: Name,
    limits: Vec<Limit>,
    sabotage: Sabotage,
    state: Mutex<State>,
}

struct State {
    store: Arc<MemoryStore>,
    bookings: Vec<Booking>,
    forgets: Vec<u64>,
    /// The last admission of a check.
    last: Option<(Operation, Decision)>,
}

impl Server {
    pub(crate) fn new(plan: &Plan, clock: Clock, sabotage: Sabotage) -> Server {
        let store = MemoryStore::builder().clock(clock.clone()).build().unwrap();
        let state = State { store, bookings: Vec::new(), forgets: Vec::new(), last: None };
        Server {
            clock,
            policy: Name::new(POLICY).unwrap(),
            limits: plan.rules.iter().map(Rule::limit).collect(),
            sabotage,
            state: Mutex::new(state),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Returns the true time in microseconds.
    pub(crate) fn now(&self) -> u64 {
        self.clock.now().as_micros()
    }

    /// Loses all state.
    pub(crate) fn forget(&self) {
        let store = MemoryStore::builder().clock(self.clock.clone()).build().unwrap();
        let now = self.now();
        let mut state = self.state();
        state.store = store;
        state.forgets.push(now);
    }

    /// Does an operation of a node, and notes it in the book.
    pub(crate) fn apply(&self, node: usize, op: &Operation) -> Reply {
        let mut state = self.state();
        let before = self.remaining(&state, &op.key);
        let done = self.sabotage.before(op);
        let (mut result, statuses) = match &done {
            Some(op) => self.ask(&state, op),
            None => self.ask(&state, &Operation { act: Act::Peek, ..op.clone() }),
        };
        if self.sabotage == Sabotage::AdmitsTooMuch && op.act == Act::Check {
            result = self.admit_after_all(&state, op, result);
        }
        let after = self.remaining(&state, &op.key);
        let Ok(decision) = &mut result else { return (result, statuses) };
        state.bookings.push(Booking {
            at: self.now(),
            node,
            op: op.clone(),
            allowed: decision.allowed,
            retry_after: decision.retry_after.map(Span::as_micros),
            taken: difference(&before, &after),
            given: difference(&after, &before),
        });
        // The layers pass this on as it is, so that the judges know whose answer a caller got.
        decision.bound_reset_after = Span::from_micros(state.bookings.len() as u64);
        self.sabotage.after(op, decision, &state.last);
        if op.act == Act::Check && decision.allowed {
            state.last = Some((op.clone(), *decision));
        }
        (result, statuses)
    }

    fn admit_after_all(
        &self,
        state: &State,
        op: &Operation,
        result: Result<Decision, StoreError>,
    ) -> Result<Decision, StoreError> {
        if result.as_ref().is_ok_and(|decision| decision.allowed) {
            return result;
        }
        let _ = self.ask(state, &Operation { act: Act::Reset, id: None, ..op.clone() });
        self.ask(state, op).0
    }

    fn ask(&self, state: &State, op: &Operation) -> Reply {
        let statuses = LimitStatuses::default();
        let mut out = [Err(StoreError::unanswered())];
        op.with_op(&self.policy, &self.limits, Some(&statuses), |op| {
            assert!(matches!(state.store.apply(&[op], None, &mut out), Apply::Ready));
        });
        let [result] = out;
        (result, statuses.to_vec())
    }

    fn peek_free(&self, state: &State, key: &[u8]) -> Reply {
        let costs = vec![0; self.limits.len()];
        self.ask(state, &Operation { act: Act::Peek, key: key.to_vec(), costs, id: None })
    }

    fn remaining(&self, state: &State, key: &[u8]) -> Vec<u64> {
        let (_, statuses) = self.peek_free(state, key);
        statuses.iter().map(|status| status.remaining.unwrap()).collect()
    }

    /// Returns what remains of each limit for a key.
    pub(crate) fn remaining_of_each(&self, key: &[u8]) -> Vec<u64> {
        self.remaining(&self.state(), key)
    }

    /// Returns how long it takes until the state of a key is gone.
    pub(crate) fn reset_after(&self, key: &[u8]) -> Duration {
        let decision = self.peek_free(&self.state(), key).0.unwrap();
        Duration::from_micros(decision.reset_after.as_micros())
    }

    /// Returns what the store would answer to an operation now.
    pub(crate) fn peek(&self, op: &Operation) -> Decision {
        let peek = Operation { act: Act::Peek, id: None, ..op.clone() };
        let decision = self.ask(&self.state(), &peek).0.unwrap();
        assert_eq!(decision.source, Source::Store);
        decision
    }

    /// Returns the book, and when the store lost its state.
    pub(crate) fn finish(&self) -> (Vec<Booking>, Vec<u64>) {
        let mut state = self.state();
        (std::mem::take(&mut state.bookings), std::mem::take(&mut state.forgets))
    }
}

/// Returns by how much more remained of a limit in one case than in the other, at most.
fn difference(more: &[u64], less: &[u64]) -> u64 {
    let each = more.iter().zip(less).map(|(more, less)| more.saturating_sub(*less));
    each.max().unwrap_or(0)
}
