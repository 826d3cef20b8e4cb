//! A shard: the states of some of the keys, each in its shortest form.

use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use hashbrown::HashMap;
use tollgate_core::Time;
use tollgate_core::storage::{Footprint, State};

use super::hash_table::HashTable;
use super::layout::Layout;
use super::quota::{self, Quota, QuotaRef};
use super::record::{
    CompactState, OneWordRecord, ThreeWordRecord, split_one_word, split_three_words,
};

/// Number of slots of each table that every new key sweeps, starting at its home. More than one, so
/// that live states outnumber dead ones however fast keys come and go.
const SWEPT_PER_KEY: usize = 8;
/// Number of whole states below which a sweep is not worthwhile.
const MIN_TO_SWEEP: usize = 64;
/// Whole states whose map has room for more than this times their number give memory back.
const MAX_ROOM_PER_WHOLE: usize = 8;

/// The states of some of the keys. A state is in exactly one of the three collections.
///
/// Together with its lock a shard fills one cache line, so finding a state touches two lines: this
/// one, and the one with the record.
#[derive(Default)]
pub(crate) struct Shard {
    /// States of one word.
    one_word: HashTable<2, 4>,
    /// States of three words.
    three_words: HashTable<4, 2>,
    /// Number of states of one word.
    one_word_len: u32,
    /// Number of states of three words.
    three_words_len: u32,
    /// States that need more: slots, leases, open reservations, and states whose terms have no
    /// index.
    whole: Option<Box<WholeStates>>,
}

/// States that are not packed.
#[derive(Default)]
struct WholeStates {
    states: HashMap<u64, WholeState, BuildHasherDefault<FingerprintHasher>>,
    /// Number of states at which the next sweep is made.
    sweep_at: usize,
    /// The memory of what the states keep beside themselves.
    lists: Footprint,
}

/// A state that was changed where it lies.
pub(crate) struct Changed<T> {
    /// What the change returned.
    pub(crate) result: T,
    /// The difference in the memory of the shard.
    pub(crate) footprint: Footprint,
    /// Whether nothing is left of it.
    pub(crate) is_gone: bool,
    /// Number of other states that were dropped meanwhile because they had reset.
    pub(crate) dropped: usize,
}

/// A state that is not packed, and the quota that it counts in.
struct WholeState {
    /// `None` only while it is changed.
    state: Option<State>,
    quota: QuotaRef,
}

impl WholeState {
    fn footprint(&self) -> Footprint {
        self.state.as_ref().map(State::footprint).unwrap_or_default()
    }

    fn expires(&self) -> Time {
        self.state.as_ref().map_or(Time::EPOCH, State::expires)
    }
}

impl Shard {
    /// Finds the record of a state of one word.
    #[inline(always)]
    pub(crate) fn one_word(&self, fingerprint: u64) -> Option<&OneWordRecord> {
        self.one_word.find(fingerprint)
    }

    /// Finds the record of a state of one word, to change it.
    #[inline(always)]
    pub(crate) fn one_word_mut(&mut self, fingerprint: u64) -> Option<&mut OneWordRecord> {
        self.one_word.find_mut(fingerprint)
    }

    /// Finds the record of a state of three words.
    #[inline(always)]
    pub(crate) fn three_words(&self, fingerprint: u64) -> Option<&ThreeWordRecord> {
        self.three_words.find(fingerprint)
    }

    /// Finds the record of a state of three words, to change it.
    #[inline(always)]
    pub(crate) fn three_words_mut(&mut self, fingerprint: u64) -> Option<&mut ThreeWordRecord> {
        self.three_words.find_mut(fingerprint)
    }

    /// Returns whether there is a state with this fingerprint, in any form.
    pub(crate) fn has(&self, fingerprint: u64) -> bool {
        let in_whole = |whole: &WholeStates| whole.states.contains_key(&fingerprint);
        self.one_word.find(fingerprint).is_some()
            || self.three_words.find(fingerprint).is_some()
            || self.whole.as_deref().is_some_and(in_whole)
    }

    /// Prefetches the home of a fingerprint in both tables.
    #[inline]
    pub(crate) fn prefetch(&self, fingerprint: u64) {
        self.one_word.prefetch(fingerprint);
        self.three_words.prefetch(fingerprint);
    }

    /// Takes a state out. It then counts in `quota`, the one of its policy, if it did not before. The caller must
    /// [put](Shard::put) it back, whatever happens.
    pub(crate) fn take(
        &mut self,
        layout: &Layout,
        fingerprint: u64,
        quota: Option<&Arc<Quota>>,
    ) -> Option<State> {
        if let Some(record) = self.one_word.remove(&mut self.one_word_len, fingerprint) {
            move_to_quota(layout.quota_of_one_word(record).as_ref(), quota);
            return layout.unpack_one_word(record).map(State::from);
        }
        if let Some(record) = self.three_words.remove(&mut self.three_words_len, fingerprint) {
            move_to_quota(layout.quota_of_three_words(record).as_ref(), quota);
            return layout.unpack_three_words(record).map(State::from);
        }
        let whole = self.whole.as_mut()?.remove(fingerprint)?;
        move_to_quota(whole.quota.as_ref(), quota);
        whole.state
    }

    /// Returns whether there is such a state that is not packed.
    pub(crate) fn has_whole(&self, fingerprint: u64) -> bool {
        self.whole.as_ref().is_some_and(|whole| whole.states.contains_key(&fingerprint))
    }

    /// Changes a state that is not packed where it lies. `None` if there is none that counts in this quota.
    pub(crate) fn change_whole<T>(
        &mut self,
        layout: &Layout,
        fingerprint: u64,
        quota: Option<&Arc<Quota>>,
        now: Time,
        change: impl FnOnce(&mut Option<State>) -> T,
    ) -> Option<Changed<T>> {
        let whole = self.whole.as_mut()?;
        let state = whole.states.get_mut(&fingerprint)?;
        if !quota::is_same(state.quota.as_ref(), quota) {
            return None;
        }
        let before = state.footprint();
        let result = change(&mut state.state);
        let mut footprint = state.footprint().minus(before);
        whole.lists = whole.lists.plus(footprint);
        let (is_gone, mut dropped) = (state.state.is_none(), 0);
        if is_gone || state.state.as_ref().is_some_and(|state| state.packed().is_some()) {
            // It needs its place no more.
            let (others, moved) = self.measured(|shard| shard.move_out(layout, fingerprint, now));
            (dropped, footprint) = (others, footprint.plus(moved));
        }
        Some(Changed { result, footprint, is_gone, dropped })
    }

    /// Moves a state into a record, or removes what is left of it. Returns the number of other states that were
    /// dropped meanwhile because they had reset.
    fn move_out(&mut self, layout: &Layout, fingerprint: u64, now: Time) -> usize {
        match self.whole.as_mut().and_then(|whole| whole.remove(fingerprint)) {
            Some(WholeState { state: Some(state), quota }) => {
                self.put(layout, fingerprint, state, quota.as_ref(), now)
            }
            _ => 0,
        }
    }

    /// Puts a state back that was [taken](Shard::take), possibly changed. Returns the number of other
    /// states that were dropped meanwhile because they had reset.
    pub(crate) fn put(
        &mut self,
        layout: &Layout,
        fingerprint: u64,
        state: State,
        quota: Option<&Arc<Quota>>,
        now: Time,
    ) -> usize {
        self.insert(layout, fingerprint, layout.pack(state, quota), now)
    }

    /// Inserts a state whose fingerprint is not present yet. Returns the number of other states that
    /// were dropped meanwhile because they had reset.
    pub(crate) fn insert(
        &mut self,
        layout: &Layout,
        fingerprint: u64,
        state: CompactState,
        now: Time,
    ) -> usize {
        let horizon = layout.horizon(now);
        match state {
            CompactState::OneWord(word) => {
                let keep = live_one_word(layout, horizon);
                self.one_word.insert(&mut self.one_word_len, [fingerprint, word], keep)
            }
            CompactState::ThreeWords([a, b, c]) => {
                let keep = live_three_words(layout, horizon);
                self.three_words.insert(&mut self.three_words_len, [fingerprint, a, b, c], keep)
            }
            CompactState::Whole(state, quota) => {
                let whole = WholeState { state: Some(state), quota };
                self.whole.get_or_insert_default().insert(fingerprint, whole, horizon)
            }
        }
    }

    /// Drops states that have reset in a few slots from the home of a new key on. Returns how many.
    pub(crate) fn sweep_few(&mut self, layout: &Layout, fingerprint: u64, now: Time) -> usize {
        self.sweep(layout, fingerprint, SWEPT_PER_KEY, layout.horizon(now))
    }

    fn sweep(&mut self, layout: &Layout, fingerprint: u64, slots: usize, horizon: Time) -> usize {
        let keep = live_one_word(layout, horizon);
        let one = self.one_word.sweep(&mut self.one_word_len, fingerprint, slots, keep);
        let keep = live_three_words(layout, horizon);
        let three = self.three_words.sweep(&mut self.three_words_len, fingerprint, slots, keep);
        one.saturating_add(three)
    }

    /// Drops all states that have reset, and what has ended in others, without slack. Gives memory back.
    /// Returns how many states were dropped.
    pub(crate) fn sweep_all(&mut self, layout: &Layout, now: Time) -> usize {
        let slots = self.one_word.slots().max(self.three_words.slots());
        let swept = self.sweep(layout, 0, slots, now);
        self.one_word.shrink(&mut self.one_word_len);
        self.three_words.shrink(&mut self.three_words_len);
        swept.saturating_add(self.sweep_whole(now))
    }

    fn sweep_whole(&mut self, now: Time) -> usize {
        let Some(whole) = &mut self.whole else { return 0 };
        let states = whole.states.values_mut().filter_map(|whole| whole.state.as_mut());
        states.for_each(|state| state.trim(now));
        let swept = whole.sweep(now);
        whole.shrink();
        if whole.states.is_empty() {
            self.whole = None;
        }
        swept
    }

    /// Returns the memory that its states take.
    pub(crate) fn footprint(&self) -> Footprint {
        let whole = self.whole.as_ref().map(|whole| whole.footprint()).unwrap_or_default();
        Footprint { states: whole.states.wrapping_add(self.tables()), ..whole }
    }

    /// Returns the memory of its tables.
    #[inline]
    pub(crate) fn tables(&self) -> usize {
        self.one_word.bytes().wrapping_add(self.three_words.bytes())
    }

    /// Returns about how many bytes more it may take with another state. What a collection takes for its first
    /// states does not count.
    #[inline]
    pub(crate) fn max_growth(&self) -> usize {
        self.one_word
            .max_growth(self.one_word_len)
            .saturating_add(self.three_words.max_growth(self.three_words_len))
            .saturating_add(self.whole.as_ref().map_or(0, |whole| whole.max_growth()))
    }

    /// Returns about how many bytes more it takes with this state.
    pub(crate) fn growth_with(
        &self,
        layout: &Layout,
        state: &State,
        quota: Option<&Arc<Quota>>,
    ) -> usize {
        match layout.pack_small(state, quota) {
            Some(CompactState::OneWord(_)) => self.one_word.max_growth(self.one_word_len),
            Some(CompactState::ThreeWords(_)) => self.three_words.max_growth(self.three_words_len),
            _ => self.whole.as_ref().map_or(0, |whole| whole.max_growth()),
        }
    }

    /// Changes the shard. Returns also the difference in the memory it takes.
    #[inline]
    pub(crate) fn measured<T>(&mut self, change: impl FnOnce(&mut Shard) -> T) -> (T, Footprint) {
        let before = self.footprint();
        let result = change(self);
        (result, self.footprint().minus(before))
    }

    /// Returns the time when the first state resets, or `None` if the shard is empty.
    pub(crate) fn first_expiry(&self, layout: &Layout) -> Option<Time> {
        let one = self.one_word.iter().filter_map(|record| layout.unpack_one_word(*record));
        let three = self.three_words.iter().filter_map(|record| layout.unpack_three_words(*record));
        let packed = one.chain(three).map(|state| state.expires());
        packed.chain(self.whole().map(|(_, state)| state.expires())).min()
    }

    /// Iterates over the indices of the terms of all records.
    pub(crate) fn terms_indices(&self) -> impl Iterator<Item = u32> {
        let one = self.one_word.iter().map(|record| split_one_word(*record).0);
        one.chain(self.three_words.iter().map(|record| split_three_words(*record).0))
    }

    fn whole(&self) -> impl Iterator<Item = (&u64, &State)> {
        let states = self.whole.iter().flat_map(|whole| &whole.states);
        states.filter_map(|(fingerprint, whole)| Some((fingerprint, whole.state.as_ref()?)))
    }

    /// Iterates over all states with their fingerprints.
    pub(crate) fn states(&self, layout: &Layout) -> impl Iterator<Item = (u64, State)> {
        let one = self.one_word.iter().map(|record| (record[0], layout.unpack_one_word(*record)));
        let three =
            self.three_words.iter().map(|record| (record[0], layout.unpack_three_words(*record)));
        let packed =
            one.chain(three).filter_map(|(fingerprint, state)| Some((fingerprint, state?.into())));
        packed.chain(self.whole().map(|(fingerprint, state)| (*fingerprint, state.clone())))
    }
}

impl WholeStates {
    /// Inserts a state. Returns the number of other states that were dropped meanwhile because they
    /// had reset.
    fn insert(&mut self, fingerprint: u64, whole: WholeState, horizon: Time) -> usize {
        let crowded = self.states.len() >= self.sweep_at.max(MIN_TO_SWEEP);
        let swept = if crowded { self.sweep(horizon) } else { 0 };
        self.lists = self.lists.plus(whole.footprint());
        self.states.insert(fingerprint, whole);
        swept
    }

    fn remove(&mut self, fingerprint: u64) -> Option<WholeState> {
        let whole = self.states.remove(&fingerprint)?;
        self.lists = self.lists.minus(whole.footprint());
        Some(whole)
    }

    fn sweep(&mut self, horizon: Time) -> usize {
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

    fn shrink(&mut self) {
        if self.states.capacity() > self.states.len().saturating_mul(MAX_ROOM_PER_WHOLE) {
            self.states.shrink_to_fit();
        }
    }

    fn footprint(&self) -> Footprint {
        let states = self.lists.states.wrapping_add(self.states.allocation_size());
        Footprint { states, ..self.lists }
    }

    fn max_growth(&self) -> usize {
        if self.states.len() < self.states.capacity() { 0 } else { self.states.allocation_size() }
    }
}

/// Returns whether a state of one word is kept, and counts it as dropped if not.
fn live_one_word(layout: &Layout, horizon: Time) -> impl FnMut(&OneWordRecord) -> bool {
    move |record| {
        let is_live = layout.one_word_is_live(*record, horizon);
        if !is_live {
            count_dropped(layout.quota_of_one_word(*record).as_ref());
        }
        is_live
    }
}

/// Returns whether a state of three words is kept, and counts it as dropped if not.
fn live_three_words(layout: &Layout, horizon: Time) -> impl FnMut(&ThreeWordRecord) -> bool {
    move |record| {
        let is_live = layout.three_words_are_live(*record, horizon);
        if !is_live {
            count_dropped(layout.quota_of_three_words(*record).as_ref());
        }
        is_live
    }
}

fn count_dropped(quota: Option<&Arc<Quota>>) {
    if let Some(quota) = quota {
        quota.remove(1);
    }
}

/// Counts a state in the quota of its policy, which may have been set after the state was written.
fn move_to_quota(from: Option<&Arc<Quota>>, to: Option<&Arc<Quota>>) {
    if !quota::is_same(from, to) {
        count_dropped(from);
        if let Some(quota) = to {
            quota.add();
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
