//! A shard: the states of some of the keys, each in its shortest form.

use std::sync::Arc;

use tollgate_core::storage::{Footprint, State, walk};
use tollgate_core::{Decision, Time};

use super::account::Account;
use super::hash_table::HashTable;
use super::layout::Layout;
use super::memory_budget::MemoryBudget;
use super::quota::{self, Quota, count_dropped};
use super::record::{
    CompactState, Form, OneWordRecord, ThreeWordRecord, split_one_word, split_three_words,
};
use super::whole_states::{self, Changed, WholeStates};

/// The states of some of the keys. A state is in exactly one of the three collections.
///
/// Together with its lock a shard fills one cache line, so finding a state touches two lines: this
/// one, and the one with the record.
#[derive(Default)]
pub(crate) struct Shard {
    /// States of one word.
    pub(super) one_word: HashTable<2, 4>,
    /// States of three words.
    pub(super) three_words: HashTable<4, 2>,
    /// Number of states of one word.
    pub(super) one_word_len: u32,
    /// Number of states of three words.
    pub(super) three_words_len: u32,
    /// States that need more: slots, leases, open reservations, and states whose terms have no
    /// index.
    pub(super) whole: Option<Box<WholeStates>>,
}

/// What putting a state back has led to.
#[derive(Default)]
pub(crate) struct Put {
    /// The memory of the lists of the state.
    pub(crate) lists: Footprint,
    /// Number of other states that were dropped meanwhile because they had reset.
    pub(crate) dropped: usize,
}

/// What moving a state out of the map has led to.
#[derive(Default)]
struct MovedOut {
    /// The memory of the lists that are gone.
    given_back: Footprint,
    /// Number of other states that were dropped meanwhile because they had reset.
    dropped: usize,
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
        self.one_word.find(fingerprint).is_some()
            || self.three_words.find(fingerprint).is_some()
            || self.has_whole(fingerprint)
    }

    /// Prefetches the home of a fingerprint in both tables.
    #[inline]
    pub(crate) fn prefetch(&self, fingerprint: u64) {
        self.one_word.prefetch(fingerprint);
        self.three_words.prefetch(fingerprint);
    }

    /// Takes a state out. It then counts in `account`, the one of its policy, if it did not before. The caller must
    /// [put](Shard::put) it back, or what has become of it, whatever happens, and count by how much the memory of its
    /// lists has changed.
    pub(crate) fn take(
        &mut self,
        layout: &Layout,
        fingerprint: u64,
        account: &Account,
        memory: &MemoryBudget,
    ) -> Option<State> {
        let quota = account.quota();
        if let Some(record) = self.one_word.remove(&mut self.one_word_len, fingerprint) {
            move_to_quota(layout.quota_of_one_word(record).as_ref(), quota);
            return layout.unpack_one_word(record).map(State::from);
        }
        if let Some(record) = self.three_words.remove(&mut self.three_words_len, fingerprint) {
            move_to_quota(layout.quota_of_three_words(record).as_ref(), quota);
            return layout.unpack_three_words(record).map(State::from);
        }
        let (state, before) = self.whole.as_mut()?.take(fingerprint, account)?;
        move_to_quota(before.quota(), quota);
        if before.share != account.share {
            memory.move_lists(before.share, account.share, state.footprint());
        }
        Some(state)
    }

    /// Returns whether there is such a state that is not packed.
    pub(crate) fn has_whole(&self, fingerprint: u64) -> bool {
        self.whole.as_ref().is_some_and(|whole| whole.has(fingerprint))
    }

    /// Returns a state that is not packed.
    pub(crate) fn whole_state(&self, fingerprint: u64) -> Option<&State> {
        self.whole.as_ref()?.get(fingerprint).map(|(state, _)| state)
    }

    /// Checks a state that is not packed where it lies. Returns the decision, and by how much the memory of its lists
    /// has changed; `None` if no such state counts in this account, or there is no decision.
    pub(crate) fn check_whole(
        &mut self,
        fingerprint: u64,
        account: &Account,
        check: impl FnOnce(&mut State) -> Option<Decision>,
    ) -> Option<(Decision, Footprint)> {
        self.whole.as_mut()?.check(fingerprint, account, check)
    }

    /// Changes a state that is not packed where it lies. `None` if no such state counts in this account.
    pub(crate) fn change_whole<T>(
        &mut self,
        layout: &Layout,
        fingerprint: u64,
        account: &Account,
        memory: &MemoryBudget,
        now: Time,
        change: impl FnOnce(&mut Option<State>) -> T,
    ) -> Option<Changed<T>> {
        let mut changed = self.whole.as_mut()?.change(fingerprint, account, change)?;
        if changed.is_gone || changed.is_packed {
            let (moved, tables) =
                self.measured(|shard| shard.move_out(layout, fingerprint, memory, now));
            changed.dropped = moved.dropped;
            changed.tables = tables;
            changed.lists = changed.lists.minus(moved.given_back);
        }
        Some(changed)
    }

    /// Puts back what has become of a state that was [taken](Shard::take), or inserts a new one.
    ///
    /// A state that was not packed and now could be stays as it is if there is no room for it elsewhere.
    pub(crate) fn put(
        &mut self,
        layout: &Layout,
        fingerprint: u64,
        state: Option<State>,
        account: &Account,
        memory: &MemoryBudget,
        now: Time,
    ) -> Put {
        let lists = state.as_ref().map(State::footprint).unwrap_or_default();
        if let Some(whole) = self.whole.as_mut()
            && whole.has(fingerprint)
        {
            whole.put_back(fingerprint, state);
            let moved = self.move_out(layout, fingerprint, memory, now);
            return Put { lists: lists.minus(moved.given_back), dropped: moved.dropped };
        }
        let Some(state) = state else { return Put::default() };
        if let Some(packed) = layout.pack(&state, account.quota()) {
            let dropped = self.insert(layout, fingerprint, packed, now);
            return Put { lists: Footprint::default(), dropped };
        }
        let horizon = layout.horizon(now);
        let whole = self.whole.get_or_insert_default();
        let dropped = whole.insert(fingerprint, state, account.clone(), memory, horizon);
        Put { lists, dropped }
    }

    /// Removes the place of a state that is gone, and moves one that can be packed into a record, if there is room.
    fn move_out(
        &mut self,
        layout: &Layout,
        fingerprint: u64,
        memory: &MemoryBudget,
        now: Time,
    ) -> MovedOut {
        let Some(whole) = self.whole.as_mut() else { return MovedOut::default() };
        let Some((state, account)) = whole.get(fingerprint) else {
            whole.remove(fingerprint);
            return MovedOut::default();
        };
        let Some(packed) = layout.pack(state, account.quota()) else { return MovedOut::default() };
        if !memory.has_room_for_tables(self.growth_of(packed.form(), 1)) {
            return MovedOut::default();
        }
        let whole = self.whole.as_mut();
        let given_back = whole.map(|whole| whole.remove(fingerprint)).unwrap_or_default();
        MovedOut { given_back, dropped: self.insert(layout, fingerprint, packed, now) }
    }

    /// Inserts the record of a state whose fingerprint is not present yet. Returns the number of other states that
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
                let keep = layout.keep_one_word(horizon);
                self.one_word.insert(&mut self.one_word_len, [fingerprint, word], keep)
            }
            CompactState::ThreeWords([a, b, c]) => {
                let keep = layout.keep_three_words(horizon);
                self.three_words.insert(&mut self.three_words_len, [fingerprint, a, b, c], keep)
            }
        }
    }

    /// Returns the memory that its states take.
    pub(crate) fn bytes(&self) -> usize {
        let lists = self.whole.as_ref().map_or(0, |whole| whole.lists().total());
        self.all_tables().wrapping_add(lists)
    }

    /// Returns the memory of all places for states.
    pub(crate) fn all_tables(&self) -> usize {
        self.tables().wrapping_add(self.whole.as_ref().map_or(0, |whole| whole.places()))
    }

    /// Returns the share of each state with lists, and their memory.
    #[cfg(test)]
    pub(crate) fn lists(&self) -> impl Iterator<Item = (u16, Footprint)> {
        self.whole.iter().flat_map(|whole| whole.footprints())
    }

    /// Returns the memory of its tables of records.
    #[inline]
    pub(crate) fn tables(&self) -> usize {
        self.one_word.bytes().wrapping_add(self.three_words.bytes())
    }

    /// Returns about how many bytes more it may take with so many more states, whatever their form.
    pub(crate) fn max_growth(&self, more: u32) -> usize {
        self.one_word
            .max_growth(self.one_word_len, more)
            .saturating_add(self.three_words.max_growth(self.three_words_len, more))
            .saturating_add(self.growth_of_whole(more))
    }

    /// Returns in which collection a state is going to be that was not there, or was taken out; `None` if its place was
    /// kept.
    pub(crate) fn form_of(
        &self,
        layout: &Layout,
        fingerprint: u64,
        state: &State,
        quota: Option<&Arc<Quota>>,
    ) -> Option<Form> {
        let form = || layout.pack(state, quota).map_or(Form::Whole, |packed| packed.form());
        (!self.has_whole(fingerprint)).then(form)
    }

    fn growth_of_whole(&self, more: u32) -> usize {
        self.whole.as_ref().map_or(whole_states::first_growth(), |whole| whole.max_growth(more))
    }

    /// Returns how many bytes more the collection for states of this form takes with so many more.
    #[inline]
    pub(crate) fn growth_of(&self, form: Form, more: u32) -> usize {
        match form {
            Form::OneWord => self.one_word.max_growth(self.one_word_len, more),
            Form::ThreeWords => self.three_words.max_growth(self.three_words_len, more),
            Form::Whole => self.growth_of_whole(more),
        }
    }

    /// Changes the shard. Returns also the difference in the memory of its tables, which wraps around.
    #[inline]
    pub(crate) fn measured<T>(&mut self, change: impl FnOnce(&mut Shard) -> T) -> (T, usize) {
        let before = self.all_tables();
        let result = change(self);
        (result, self.all_tables().wrapping_sub(before))
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
        walk(self.one_word.slots().saturating_add(self.three_words.slots()));
        let one = self.one_word.iter().map(|record| split_one_word(*record).0);
        one.chain(self.three_words.iter().map(|record| split_three_words(*record).0))
    }

    fn whole(&self) -> impl Iterator<Item = (u64, &State)> {
        self.whole.iter().flat_map(|whole| whole.iter())
    }

    /// Iterates over all states with their fingerprints.
    pub(crate) fn states(&self, layout: &Layout) -> impl Iterator<Item = (u64, State)> {
        let one = self.one_word.iter().map(|record| (record[0], layout.unpack_one_word(*record)));
        let three =
            self.three_words.iter().map(|record| (record[0], layout.unpack_three_words(*record)));
        let packed =
            one.chain(three).filter_map(|(fingerprint, state)| Some((fingerprint, state?.into())));
        packed.chain(self.whole().map(|(fingerprint, state)| (fingerprint, state.clone())))
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
