//! The simplest store: one map under one lock, for tests and simulations.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher as _};
use std::sync::{Mutex, PoisonError};

use crate::decide::{Outcome, decide};
use crate::decision::Decision;
use crate::error::StoreError;
use crate::idempotency::IdempotencyCache;
use crate::operation::Op;
use crate::rule::{Handle, State};
use crate::storage::{LimitStorage as _, OpStorage as _};
use crate::store::{Apply, Store};
use crate::subject::{Subject, write_field};
use crate::time::{Span, Time};

/// How long a state is kept after its reset, so that a clock that steps back by less finds it
/// again.
const SLACK: Span = Span::from_micros(3_600_000_000);
/// Minimum number of entries for a sweep; fewer are not worth it.
const MIN_SWEEP: usize = 1 << 16;

/// A store in memory that is simple enough to be correct by inspection. It has no clock: every call
/// must pass the time.
///
/// Concurrent callers are exact, and served one at a time. States that have reset are swept
/// whenever the number of entries has doubled, so that memory follows the keys in use, not the keys
/// ever seen.
///
/// ```
/// use tollgate_core::{Act, Name, PlainStore, Policy, Request, Time};
///
/// let store = PlainStore::default();
/// let policy = Policy::parse(Name::new("api")?, ["gcra 1/s burst 2"])?;
/// let request = Request::of("203.0.113.9");
/// for allowed in [true, true, false] {
///     let check = request.with_op(&policy, Act::Check, |op| store.apply_one(op, Time::EPOCH));
///     assert_eq!(check??.allowed, allowed);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct PlainStore {
    keys: Mutex<Keys>,
}

impl PlainStore {
    /// Applies one operation.
    ///
    /// # Errors
    /// Fails as [`decide`] does.
    pub fn apply_one(&self, op: &Op<'_>, now: Time) -> Result<Decision, StoreError> {
        // The map is never left half changed, so it can be used after a panic in another thread.
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.apply_one(op, now)
    }

    /// Returns the number of entries: states, empty entries of keys that were reset, and remembered
    /// ids.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).entries()
    }

    /// Returns whether there are no entries.
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
        for (op, result) in ops.iter().zip(out) {
            *result = at.ok_or_else(StoreError::no_clock).and_then(|now| self.apply_one(op, now));
        }
        Apply::Ready
    }
}

#[derive(Debug, Default)]
struct Keys {
    /// A key that was reset keeps an empty entry until the next sweep.
    states: HashMap<Box<[u8]>, Option<State>>,
    ids: IdempotencyCache,
    /// Buffers for the keys of the states of the current operation.
    state_keys: Vec<Vec<u8>>,
    /// Number of entries at which to sweep next.
    sweep_at: usize,
    recent: RecentTimes,
}

impl Keys {
    fn apply_one(&mut self, op: &Op<'_>, now: Time) -> Result<Decision, StoreError> {
        self.write_state_keys(op);
        let scope = op.id_scope();
        let remembered = scope.as_ref().and_then(|scope| self.ids.get(scope, op, now));
        if let Some(decision) = remembered
            && self.still_holds(op, now)
        {
            return Ok(decision);
        }
        let outcome = self.decide(op, now)?;
        if let Some(scope) = scope {
            self.ids.record(scope, op, outcome);
        }
        self.sweep(now);
        Ok(outcome.decision)
    }

    fn write_state_keys(&mut self, op: &Op<'_>) {
        self.state_keys.resize_with(op.items.len().max(self.state_keys.len()), Vec::new);
        let state_keys = self.state_keys.iter_mut().zip(op.items).enumerate();
        for (position, (key, item)) in state_keys {
            write_state_key(key, op, position, item.subject);
        }
    }

    /// Returns whether the leases that the operation took, if any, are held.
    fn still_holds(&self, op: &Op<'_>, now: Time) -> bool {
        let Some(handle) = handle(op).filter(|_| op.takes_leases()) else { return true };
        op.items.iter().zip(&self.state_keys).all(|(item, key)| {
            let state = self.states.get(key.as_slice()).and_then(Option::as_ref);
            item.limit.still_holds(state, item.cost, handle, now)
        })
    }

    fn decide(&mut self, op: &Op<'_>, now: Time) -> Result<Outcome, StoreError> {
        // One limit with a known key is the common case and is decided in place.
        if let ([_], [key, ..]) = (op.items, self.state_keys.as_slice())
            && let Some(state) = self.states.get_mut(key.as_slice())
        {
            return decide(op, handle(op), std::slice::from_mut(state), now);
        }
        self.decide_outside(op, now)
    }

    /// Takes the states out of the map, decides, and puts the new states back.
    fn decide_outside(&mut self, op: &Op<'_>, now: Time) -> Result<Outcome, StoreError> {
        let keys = self.state_keys.iter().take(op.items.len());
        let taken = keys.clone().map(|key| self.states.remove(key.as_slice()).flatten());
        let mut states: Vec<Option<State>> = taken.collect();
        let outcome = decide(op, handle(op), &mut states, now);
        for (key, state) in keys.zip(states).filter(|(_, state)| state.is_some()) {
            self.states.insert(key.as_slice().into(), state);
        }
        outcome
    }

    fn entries(&self) -> usize {
        self.states.len().saturating_add(self.ids.len())
    }

    fn sweep(&mut self, now: Time) {
        self.recent.add(now);
        if self.entries() < self.sweep_at.max(MIN_SWEEP) {
            return;
        }
        let earliest = self.recent.earliest();
        let counts = |state: &State| earliest < state.expires().after(SLACK);
        self.states.retain(|_, state| state.as_ref().is_some_and(counts));
        self.ids.sweep(earliest);
        self.sweep_at = self.entries().saturating_mul(2);
    }
}

/// The earliest of the recent times. A state that has reset by then has reset for all callers, even
/// if one step of a trace is far ahead of the others.
#[derive(Debug, Default)]
struct RecentTimes {
    /// Number of times that `earliest` covers.
    count: usize,
    earliest: Option<Time>,
    /// The earliest of the times before those, so that there are always enough times.
    before: Option<Time>,
}

impl RecentTimes {
    fn add(&mut self, now: Time) {
        if self.count >= MIN_SWEEP / 4 {
            (self.count, self.before, self.earliest) = (0, self.earliest, None);
        }
        self.count = self.count.saturating_add(1);
        self.earliest = Some(self.earliest.map_or(now, |earliest| earliest.min(now)));
    }

    fn earliest(&self) -> Time {
        [self.earliest, self.before].into_iter().flatten().min().unwrap_or(Time::EPOCH)
    }
}

/// Returns the handle of an operation's id. This store is for tests and simulations, so the hash needs
/// no secret.
fn handle(op: &Op<'_>) -> Option<Handle> {
    op.id?;
    let word = |seed: u8| {
        let mut hasher = DefaultHasher::new();
        hasher.write_u8(seed);
        op.hash_handle(&mut hasher);
        hasher.finish()
    };
    Some(Handle::from_words([word(0), word(1)]))
}

/// Writes the key of the state of one limit: policy, position and subject.
fn write_state_key(out: &mut Vec<u8>, op: &Op<'_>, position: usize, subject: Subject<'_>) {
    out.clear();
    out.extend_from_slice(&position.to_le_bytes());
    write_field(out, op.policy.as_str().as_bytes());
    subject.write_to(out);
}
