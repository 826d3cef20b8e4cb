//! States that are not packed, each in a place of its own.

use std::hash::{BuildHasherDefault, Hasher};

use hashbrown::HashMap;
use tollgate_core::storage::{Footprint, State, walk};
use tollgate_core::{Decision, Time};

use super::account::Account;
use super::memory_budget::MemoryBudget;
use super::quota::count_dropped;

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
    /// The memory of the lists of the states that are here.
    lists: Footprint,
}

/// A state, and what it counts in.
struct WholeState {
    /// `None` only while it is taken out, or changed. It keeps its place meanwhile: a map that is full may need more
    /// memory to take back what it has given away.
    state: Option<State>,
    account: Account,
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

/// A state that was changed where it lies.
pub(crate) struct Changed<T> {
    /// What the change returned.
    pub(crate) result: T,
    /// The difference in the memory of the tables.
    pub(crate) tables: usize,
    /// The difference in the memory of the lists of the state.
    pub(crate) lists: Footprint,
    /// Whether nothing is left of it.
    pub(crate) is_gone: bool,
    /// Whether it could be packed now.
    pub(crate) is_packed: bool,
    /// Number of other states that were dropped meanwhile because they had reset.
    pub(crate) dropped: usize,
}

/// Number of places of a map that has any.
const MIN_PLACES: usize = 4;
/// The memory of a place, and of what the map keeps beside it, or a little more.
const BYTES_PER_PLACE: usize = size_of::<(u64, WholeState)>() + 8;

/// Returns how many bytes the place of the first state takes.
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

    /// Returns a state that is not taken out, and what it counts in.
    pub(super) fn get(&self, fingerprint: u64) -> Option<(&State, &Account)> {
        let whole = self.states.get(&fingerprint)?;
        Some((whole.state.as_ref()?, &whole.account))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &State)> {
        self.states
            .iter()
            .filter_map(|(fingerprint, whole)| Some((*fingerprint, whole.state.as_ref()?)))
    }

    /// Takes a state out, which counts in this account from now on. Returns also the one before.
    pub(super) fn take(&mut self, fingerprint: u64, account: &Account) -> Option<(State, Account)> {
        let whole = self.states.get_mut(&fingerprint)?;
        let state = whole.state.take()?;
        self.lists = self.lists.minus(state.footprint());
        Some((state, std::mem::replace(&mut whole.account, account.clone())))
    }

    /// Puts back what has become of a state that was taken out.
    pub(super) fn put_back(&mut self, fingerprint: u64, state: Option<State>) {
        if let Some(whole) = self.states.get_mut(&fingerprint) {
            whole.state = state;
            self.lists = self.lists.plus(whole.footprint());
        }
    }

    /// Checks a state that counts in this account. Returns the decision, if there is one, and by how much the memory
    /// of its lists has changed.
    pub(super) fn check(
        &mut self,
        fingerprint: u64,
        account: &Account,
        check: impl FnOnce(&mut State) -> Option<Decision>,
    ) -> Option<(Decision, Footprint)> {
        let whole = self.states.get_mut(&fingerprint)?;
        if !whole.account.is_same(account) {
            return None;
        }
        let state = whole.state.as_mut()?;
        let before = state.footprint();
        let decision = check(state)?;
        let growth = state.footprint().minus(before);
        self.lists = self.lists.plus(growth);
        Some((decision, growth))
    }

    /// Changes a state that counts in this account.
    pub(super) fn change<T>(
        &mut self,
        fingerprint: u64,
        account: &Account,
        change: impl FnOnce(&mut Option<State>) -> T,
    ) -> Option<Changed<T>> {
        let whole = self.states.get_mut(&fingerprint)?;
        if !whole.account.is_same(account) {
            return None;
        }
        let before = whole.footprint();
        let result = change(&mut whole.state);
        let lists = whole.footprint().minus(before);
        self.lists = self.lists.plus(lists);
        Some(Changed {
            result,
            tables: 0,
            lists,
            is_gone: whole.state.is_none(),
            is_packed: whole
                .state
                .as_ref()
                .is_some_and(|state| state.packed().is_some() || state.lone_lease().is_some()),
            dropped: 0,
        })
    }

    /// Inserts a state. Returns the number of other states that were dropped meanwhile because they
    /// had reset.
    pub(super) fn insert(
        &mut self,
        fingerprint: u64,
        state: State,
        account: Account,
        memory: &MemoryBudget,
        horizon: Time,
    ) -> usize {
        let crowded = self.states.len() >= self.sweep_at.max(MIN_TO_SWEEP);
        let swept = if crowded { self.sweep(memory, horizon) } else { 0 };
        self.lists = self.lists.plus(state.footprint());
        self.states.insert(fingerprint, WholeState { state: Some(state), account });
        swept
    }

    /// Removes a state, or the place of one that is gone. Returns the memory of its lists.
    pub(super) fn remove(&mut self, fingerprint: u64) -> Footprint {
        let removed = self.states.remove(&fingerprint);
        let lists = removed.map(|whole| whole.footprint()).unwrap_or_default();
        self.lists = self.lists.minus(lists);
        lists
    }

    /// Drops all states that have reset, and what has ended in others. Gives memory back. Returns how many states were
    /// dropped.
    pub(super) fn sweep_all(&mut self, memory: &MemoryBudget, now: Time) -> usize {
        for WholeState { state, account } in self.states.values_mut() {
            let Some(state) = state else { continue };
            let before = state.footprint();
            state.trim(now);
            let change = state.footprint().minus(before);
            memory.count_lists(account.share, change);
            self.lists = self.lists.plus(change);
        }
        let swept = self.sweep(memory, now);
        if self.states.capacity() > self.states.len().saturating_mul(MAX_ROOM_PER_STATE) {
            self.states.shrink_to_fit();
        }
        swept
    }

    fn sweep(&mut self, memory: &MemoryBudget, horizon: Time) -> usize {
        walk(self.states.len());
        let before = self.states.len();
        let lists = &mut self.lists;
        self.states.retain(|_, whole| {
            let is_live = horizon < whole.expires();
            if !is_live {
                let change = Footprint::default().minus(whole.footprint());
                memory.count_lists(whole.account.share, change);
                *lists = lists.plus(change);
                count_dropped(whole.account.quota());
            }
            is_live
        });
        self.sweep_at = self.states.len().saturating_mul(2);
        before.saturating_sub(self.states.len())
    }

    /// Returns the memory of the places of the states.
    pub(super) fn places(&self) -> usize {
        self.states.allocation_size()
    }

    /// Returns the share of each state, and the memory of its lists.
    #[cfg(test)]
    pub(super) fn footprints(&self) -> impl Iterator<Item = (u16, Footprint)> {
        self.states.values().map(|whole| (whole.account.share, whole.footprint()))
    }

    /// Returns the memory of the lists of the states that are here.
    pub(super) fn lists(&self) -> Footprint {
        self.lists
    }

    /// Returns how many bytes more the places take with so many more states.
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
