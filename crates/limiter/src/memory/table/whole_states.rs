//! States that are not packed, each in a place of its own.

use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use hashbrown::HashMap;
use tollgate_core::storage::{Footprint, State, walk};
use tollgate_core::{Decision, Time};

use super::quota::{self, Quota, QuotaRef, count_dropped};
use super::shard::Changed;

/// Number of states below which a sweep is not worthwhile.
const MIN_TO_SWEEP: usize = 64;
/// A map with room for more than this times its states gives memory back.
const MAX_ROOM_PER_STATE: usize = 8;

/// The states of a shard that are not packed.
#[derive(Default)]
pub(super) struct WholeStates {
    states: HashMap<u64, WholeState, BuildHasherDefault<FingerprintHasher>>,
    /// Number of states at which the next sweep is made.
    sweep_at: usize,
    /// The memory of what the states keep beside themselves.
    lists: Footprint,
}

/// A state, and the quota that it counts in.
struct WholeState {
    /// `None` only while it is taken out, or changed. It keeps its place meanwhile: a map that is full may need more
    /// memory to take back what it has given away.
    state: Option<State>,
    quota: QuotaRef,
}

impl WholeState {
    fn footprint(&self) -> Footprint {
        self.state.as_ref().map(State::footprint).unwrap_or_default()
    }

    /// Returns when it resets. One that is taken out stays.
    fn expires(&self) -> Time {
        self.state.as_ref().map_or(Time::MAX, State::expires)
    }
}

/// Number of places of a map that has any.
const MIN_PLACES: usize = 4;
/// The memory of a place, and of what the map keeps beside it, or a little more.
const BYTES_PER_PLACE: usize = size_of::<(u64, WholeState)>() + 8;

/// Returns how many bytes the first state takes, beside what it keeps itself.
pub(super) const fn first_growth() -> usize {
    MIN_PLACES * BYTES_PER_PLACE
}

impl WholeStates {
    pub(super) fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Returns whether there is such a state, or one is taken out.
    pub(super) fn has(&self, fingerprint: u64) -> bool {
        self.states.contains_key(&fingerprint)
    }

    /// Returns a state that is not taken out, and its quota.
    pub(super) fn get(&self, fingerprint: u64) -> Option<(&State, Option<&Arc<Quota>>)> {
        let whole = self.states.get(&fingerprint)?;
        Some((whole.state.as_ref()?, whole.quota.as_ref()))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &State)> {
        self.states
            .iter()
            .filter_map(|(fingerprint, whole)| Some((*fingerprint, whole.state.as_ref()?)))
    }

    /// Takes a state out, for a policy with this quota. Returns also the quota that it counted in before.
    pub(super) fn take(
        &mut self,
        fingerprint: u64,
        quota: Option<&Arc<Quota>>,
    ) -> Option<(State, QuotaRef)> {
        let whole = self.states.get_mut(&fingerprint)?;
        let state = whole.state.take()?;
        self.lists = self.lists.minus(state.footprint());
        Some((state, std::mem::replace(&mut whole.quota, quota.cloned())))
    }

    /// Puts back what has become of a state that was taken out.
    pub(super) fn put_back(&mut self, fingerprint: u64, state: Option<State>) {
        if let Some(whole) = self.states.get_mut(&fingerprint) {
            whole.state = state;
            self.lists = self.lists.plus(whole.footprint());
        }
    }

    /// Checks a state that counts in this quota. Returns the decision, if there is one, and by how much the memory has
    /// changed.
    pub(super) fn check(
        &mut self,
        fingerprint: u64,
        quota: Option<&Arc<Quota>>,
        check: impl FnOnce(&mut State) -> Option<Decision>,
    ) -> Option<(Decision, Footprint)> {
        let whole = self.states.get_mut(&fingerprint)?;
        if !quota::is_same(whole.quota.as_ref(), quota) {
            return None;
        }
        let state = whole.state.as_mut()?;
        let before = state.footprint();
        let decision = check(state)?;
        let growth = state.footprint().minus(before);
        self.lists = self.lists.plus(growth);
        Some((decision, growth))
    }

    /// Changes a state that counts in this quota.
    pub(super) fn change<T>(
        &mut self,
        fingerprint: u64,
        quota: Option<&Arc<Quota>>,
        change: impl FnOnce(&mut Option<State>) -> T,
    ) -> Option<Changed<T>> {
        let whole = self.states.get_mut(&fingerprint)?;
        if !quota::is_same(whole.quota.as_ref(), quota) {
            return None;
        }
        let before = whole.footprint();
        let result = change(&mut whole.state);
        let footprint = whole.footprint().minus(before);
        self.lists = self.lists.plus(footprint);
        Some(Changed {
            result,
            footprint,
            is_gone: whole.state.is_none(),
            is_packed: whole.state.as_ref().is_some_and(|state| state.packed().is_some()),
            dropped: 0,
        })
    }

    /// Inserts a state. Returns the number of other states that were dropped meanwhile because they
    /// had reset.
    pub(super) fn insert(
        &mut self,
        fingerprint: u64,
        state: State,
        quota: QuotaRef,
        horizon: Time,
    ) -> usize {
        let crowded = self.states.len() >= self.sweep_at.max(MIN_TO_SWEEP);
        let swept = if crowded { self.sweep(horizon) } else { 0 };
        self.lists = self.lists.plus(state.footprint());
        self.states.insert(fingerprint, WholeState { state: Some(state), quota });
        swept
    }

    pub(super) fn remove(&mut self, fingerprint: u64) {
        if let Some(whole) = self.states.remove(&fingerprint) {
            self.lists = self.lists.minus(whole.footprint());
        }
    }

    /// Drops all states that have reset, and what has ended in others. Gives memory back. Returns how many states were
    /// dropped.
    pub(super) fn sweep_all(&mut self, now: Time) -> usize {
        let states = self.states.values_mut().filter_map(|whole| whole.state.as_mut());
        states.for_each(|state| state.trim(now));
        let swept = self.sweep(now);
        if self.states.capacity() > self.states.len().saturating_mul(MAX_ROOM_PER_STATE) {
            self.states.shrink_to_fit();
        }
        swept
    }

    fn sweep(&mut self, horizon: Time) -> usize {
        walk(self.states.len());
        let before = self.states.len();
        let mut lists = Footprint::default();
        self.states.retain(|_, whole| {
            let is_live = horizon < whole.expires();
            if is_live {
                lists = lists.plus(whole.footprint());
            } else {
                count_dropped(whole.quota.as_ref());
            }
            is_live
        });
        self.lists = lists;
        self.sweep_at = self.states.len().saturating_mul(2);
        before.saturating_sub(self.states.len())
    }

    pub(super) fn footprint(&self) -> Footprint {
        let states = self.lists.states.wrapping_add(self.states.allocation_size());
        Footprint { states, ..self.lists }
    }

    /// Returns how many bytes more it takes with so many more states, beside what they keep themselves.
    pub(super) fn max_growth(&self, more: u32) -> usize {
        let len = self.states.len().saturating_add(more as usize);
        if len <= self.states.capacity() {
            0
        } else {
            self.states.allocation_size().max(first_growth())
        }
    }
}

/// Passes fingerprints through: they are hashes already.
#[derive(Default)]
struct FingerprintHasher(u64);

impl Hasher for FingerprintHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, fingerprint: u64) {
        self.0 = fingerprint;
    }
}
