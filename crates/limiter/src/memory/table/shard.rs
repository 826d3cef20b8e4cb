//! A shard: the states of some of the keys, each in its shortest form.

use std::sync::Arc;

use tollgate_core::storage::{Footprint, Handle, LimitStorage as _, State, walk};
use tollgate_core::{Decision, Item, Time};

use super::account::Account;
use super::hash_table::HashTable;
use super::layout::Layout;
use super::lone_leases::state_of_lease;
use super::long_states::LongStates;
use super::memory_budget::{Growth, MemoryBudget};
use super::quota::{self, Quota, count_dropped};
use super::record::{
    CompactState, Form, LeaseRecord, OneWordRecord, ThreeWordRecord, split_lease, split_one_word,
    split_three_words,
};
use super::whole_states::{Changed, WholeStates};

/// The states of some of the keys. A state is in exactly one of the four collections.
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
    /// States that need more: several slots, leases, open reservations, and states whose terms have no index.
    pub(super) long: Option<Box<LongStates>>,
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
            || self.lone_lease(fingerprint).is_some()
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
        let long = self.long.as_mut()?;
        if let Some(record) = long.lone.remove(fingerprint) {
            move_to_quota(layout.quota_of_lease(record).as_ref(), quota);
            return Some(state_of_lease(record));
        }
        let (state, before) = long.whole_with(fingerprint)?.take(fingerprint, account)?;
        move_to_quota(before.quota(), quota);
        if before.share != account.share {
            memory.move_lists(before.share, account.share, state.footprint());
        }
        Some(state)
    }

    /// Returns whether there is such a state that is not packed.
    #[inline]
    pub(crate) fn has_whole(&self, fingerprint: u64) -> bool {
        self.long.as_ref().is_some_and(|long| long.has_whole(fingerprint))
    }

    /// Returns whether the item of an operation still holds its leases, in a state with this fingerprint.
    pub(crate) fn still_holds(
        &self,
        fingerprint: u64,
        item: &Item<'_>,
        handle: Handle,
        now: Time,
    ) -> bool {
        let holds = |state: Option<&State>| item.limit.still_holds(state, item.cost, handle, now);
        let Some(long) = &self.long else { return holds(None) };
        match long.lone.find(fingerprint) {
            Some(record) => holds(Some(&state_of_lease(record))),
            None => holds(long.whole_state(fingerprint)),
        }
    }

    /// Checks a state that is not packed where it lies. Returns the decision, and by how much the memory of its lists
    /// has changed; `None` if no such state counts in this account, or there is no decision.
    pub(crate) fn check_whole(
        &mut self,
        fingerprint: u64,
        account: &Account,
        check: impl FnOnce(&mut State) -> Option<Decision>,
    ) -> Option<(Decision, Footprint)> {
        self.whole_with(fingerprint)?.check(fingerprint, account, check)
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
        let mut changed = self.whole_with(fingerprint)?.change(fingerprint, account, change)?;
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
        if let Some(whole) = self.whole_with(fingerprint) {
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
        let long = self.long.get_or_insert_default();
        let dropped = long.insert_whole(fingerprint, state, account.clone(), memory, horizon);
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
        let Some(whole) = self.whole_with(fingerprint) else { return MovedOut::default() };
        let Some((state, account)) = whole.get(fingerprint) else {
            whole.remove(fingerprint);
            return MovedOut::default();
        };
        let Some(packed) = layout.pack(state, account.quota()) else { return MovedOut::default() };
        if !memory.fits(self.growth_of(packed.form(), 1)) {
            return MovedOut::default();
        }
        let given_back =
            self.whole_with(fingerprint).map(|whole| whole.remove(fingerprint)).unwrap_or_default();
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
            CompactState::LoneLease([a, b, c, d]) => {
                let leases = &mut self.long.get_or_insert_default().lone;
                leases.insert(layout, [fingerprint, a, b, c, d], horizon)
            }
        }
    }

    /// Returns the memory that its states take.
    pub(crate) fn bytes(&self) -> usize {
        let lists = self.long.as_ref().map_or(0, |long| long.lists().total());
        self.all_tables().wrapping_add(lists)
    }

    /// Returns the memory of all places for states.
    pub(crate) fn all_tables(&self) -> usize {
        self.tables().wrapping_add(self.long.as_ref().map_or(0, |long| long.tables()))
    }

    /// Returns the share of each state with lists, and their memory.
    #[cfg(test)]
    pub(crate) fn lists(&self) -> impl Iterator<Item = (u16, Footprint)> {
        self.long.iter().flat_map(|long| long.footprints())
    }

    /// Returns the memory of its tables of records.
    #[inline]
    pub(crate) fn tables(&self) -> usize {
        self.one_word.bytes().wrapping_add(self.three_words.bytes())
    }

    /// Returns about how much more it may take with so many more states, whatever their form.
    pub(crate) fn max_growth(&self, more: u32) -> Growth {
        let forms = [Form::OneWord, Form::ThreeWords, Form::LoneLease, Form::Leases, Form::Whole];
        let growths = forms.map(|form| self.growth_of(form, more));
        growths.into_iter().fold(Growth::default(), Growth::plus)
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
        (!self.has_whole(fingerprint)).then(|| layout.form_of(state, quota))
    }

    /// Returns how much more the collection for states of this form takes with so many more.
    #[inline]
    pub(crate) fn growth_of(&self, form: Form, more: u32) -> Growth {
        let long = || self.long.as_deref();
        let tables = match form {
            Form::OneWord => self.one_word.max_growth(self.one_word_len, more),
            Form::ThreeWords => self.three_words.max_growth(self.three_words_len, more),
            Form::LoneLease => LongStates::growth_of_lone(long(), more),
            Form::Leases => return LongStates::growth_of_several(long(), more),
            Form::Whole => LongStates::growth_of_others(long(), more),
        };
        Growth { tables, lists: Footprint::default() }
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
        let leases = self.leases().map(|record| state_of_lease(*record).expires());
        packed.chain(leases).chain(self.whole().map(|(_, state)| state.expires())).min()
    }

    /// Iterates over the indices of the terms of all records.
    pub(crate) fn terms_indices(&self) -> impl Iterator<Item = u32> {
        let leases = self.long.as_ref().map_or(0, |long| long.lone.slots());
        let slots = self.one_word.slots().saturating_add(self.three_words.slots());
        walk(slots.saturating_add(leases));
        let one = self.one_word.iter().map(|record| split_one_word(*record).0);
        let three = self.three_words.iter().map(|record| split_three_words(*record).0);
        one.chain(three).chain(self.leases().map(|record| split_lease(*record).0))
    }

    fn leases(&self) -> impl Iterator<Item = &LeaseRecord> {
        self.long.iter().flat_map(|long| long.lone.iter())
    }

    fn whole(&self) -> impl Iterator<Item = (u64, &State)> {
        self.long.iter().flat_map(|long| long.whole())
    }

    /// Returns the collection that has such a state that is not packed.
    fn whole_with(&mut self, fingerprint: u64) -> Option<&mut WholeStates> {
        self.long.as_mut()?.whole_with(fingerprint)
    }

    /// Iterates over all states with their fingerprints.
    pub(crate) fn states(&self, layout: &Layout) -> impl Iterator<Item = (u64, State)> {
        let one = self.one_word.iter().map(|record| (record[0], layout.unpack_one_word(*record)));
        let three =
            self.three_words.iter().map(|record| (record[0], layout.unpack_three_words(*record)));
        let packed =
            one.chain(three).filter_map(|(fingerprint, state)| Some((fingerprint, state?.into())));
        let leases = self.leases().map(|record| (record[0], state_of_lease(*record)));
        packed
            .chain(leases)
            .chain(self.whole().map(|(fingerprint, state)| (fingerprint, state.clone())))
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
