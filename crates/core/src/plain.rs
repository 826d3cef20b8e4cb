//! The plainest store there could be: one map under one lock, for tests and simulations.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::decision::Decision;
use crate::error::StoreError;
use crate::ids::IdempotencyCache;
use crate::operation::Op;
use crate::policy::{Outcome, decide};
use crate::rule::State;
use crate::store::{Apply, Store};
use crate::subject::{Subject, write_part};
use crate::time::{Span, Time};

/// How long a state may outlive its reset: a clock that steps back by less finds it again.
const SLACK: Span = Span::from_micros(3_600_000_000);
/// As few entries as this are not worth sweeping.
const SWEEP_FROM: usize = 1 << 16;

/// A store in memory that is simple enough to be seen right. It has no clock: every call must say
/// when it is.
///
/// Exact under concurrent callers, one at a time. What has reset is swept out whenever the number
/// of entries has doubled, so that memory follows the keys in use, not the keys ever seen.
///
/// ```
/// use tollgate_core::{Act, Key, Name, Op, PlainStore, Policy, Time};
///
/// let store = PlainStore::default();
/// let policy = Policy::parse(Name::new("api")?, ["gcra 1/s burst 2"])?;
/// let key = Key::new(b"203.0.113.9")?;
/// let items = policy.items(|_| Some(key))?;
/// let check = Op { policy: policy.name(), items: &items, act: Act::Check, cost: 1, id: None };
///
/// let answers = [(); 3].map(|()| store.apply_one(&check, Time::EPOCH));
/// assert_eq!(answers.map(|answer| answer.unwrap().allowed), [true, true, false]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct PlainStore {
    keys: Mutex<Keys>,
}

impl PlainStore {
    /// Answers one operation.
    ///
    /// # Errors
    /// As [`decide`].
    pub fn apply_one(&self, op: &Op<'_>, now: Time) -> Result<Decision, StoreError> {
        // The map is never left half changed, so a panic elsewhere is no reason to stop.
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.apply_one(op, now)
    }

    /// How many entries are kept: states, places of states that were reset, and remembered ids.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).entries()
    }

    /// Whether nothing is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Store for PlainStore {
    fn apply<'a>(
        &'a self,
        ops: &'a [Op<'a>],
        at: Option<Time>,
        out: &'a mut [Result<Decision, StoreError>],
    ) -> Apply<'a> {
        for (op, answer) in ops.iter().zip(out) {
            *answer = at.ok_or_else(StoreError::no_clock).and_then(|now| self.apply_one(op, now));
        }
        Apply::Ready
    }
}

#[derive(Debug, Default)]
struct Keys {
    /// A key that was reset keeps its place, empty, until the next sweep.
    states: HashMap<Box<[u8]>, Option<State>>,
    remembered: IdempotencyCache,
    /// The names of the states of the operation at hand; kept to be written over.
    names: Vec<Vec<u8>>,
    /// At how many entries to sweep next.
    sweep_at: usize,
    recent: Recent,
}

impl Keys {
    fn apply_one(&mut self, op: &Op<'_>, now: Time) -> Result<Decision, StoreError> {
        let scope = op.id_scope();
        let given = scope.as_ref().and_then(|scope| self.remembered.given(scope, op, now));
        if let Some(given) = given {
            return Ok(given);
        }
        let outcome = self.decide(op, now)?;
        if let Some(scope) = scope {
            self.remembered.note(scope, op, outcome);
        }
        self.sweep(now);
        Ok(outcome.decision)
    }

    fn decide(&mut self, op: &Op<'_>, now: Time) -> Result<Outcome, StoreError> {
        self.names.resize_with(op.items.len().max(self.names.len()), Vec::new);
        let names = self.names.iter_mut().zip(op.items).enumerate();
        for (position, (name, item)) in names {
            write_name(name, op, position, item.subject);
        }
        // One limit, whose key is known, is the common case and is decided in place.
        if let ([_], [name, ..]) = (op.items, self.names.as_slice())
            && let Some(place) = self.states.get_mut(name.as_slice())
        {
            return decide(op, std::slice::from_mut(place), now);
        }
        self.decide_lent(op, now)
    }

    /// Lends the states to the decision and puts back what is left of them.
    fn decide_lent(&mut self, op: &Op<'_>, now: Time) -> Result<Outcome, StoreError> {
        let names = self.names.iter().take(op.items.len());
        let lent = names.clone().map(|name| self.states.remove(name.as_slice()).flatten());
        let mut states: Vec<Option<State>> = lent.collect();
        let outcome = decide(op, &mut states, now);
        for (name, state) in names.zip(states).filter(|(_, state)| state.is_some()) {
            self.states.insert(name.as_slice().into(), state);
        }
        outcome
    }

    fn entries(&self) -> usize {
        self.states.len().saturating_add(self.remembered.len())
    }

    fn sweep(&mut self, now: Time) {
        self.recent.saw(now);
        if self.entries() < self.sweep_at.max(SWEEP_FROM) {
            return;
        }
        let earliest = self.recent.earliest();
        let counts = |state: &State| earliest < state.expires().after(SLACK);
        self.states.retain(|_, state| state.as_ref().is_some_and(counts));
        self.remembered.sweep(earliest);
        self.sweep_at = self.entries().saturating_mul(2);
    }
}

/// The earliest of the last times: what has reset by then is past for everyone, though one step of
/// a trace may be far ahead of the others.
#[derive(Debug, Default)]
struct Recent {
    seen: usize,
    earliest: Option<Time>,
    /// The same of the times before, so that there are always enough to judge by.
    before: Option<Time>,
}

impl Recent {
    fn saw(&mut self, now: Time) {
        if self.seen >= SWEEP_FROM / 4 {
            (self.seen, self.before, self.earliest) = (0, self.earliest, None);
        }
        self.seen = self.seen.saturating_add(1);
        self.earliest = Some(self.earliest.map_or(now, |earliest| earliest.min(now)));
    }

    fn earliest(&self) -> Time {
        [self.earliest, self.before].into_iter().flatten().min().unwrap_or(Time::EPOCH)
    }
}

/// What the state of one limit is kept under: policy, position and subject.
fn write_name(name: &mut Vec<u8>, op: &Op<'_>, position: usize, subject: Subject<'_>) {
    name.clear();
    name.extend_from_slice(&position.to_le_bytes());
    write_part(name, op.policy.as_str().as_bytes());
    subject.write_to(name);
}
