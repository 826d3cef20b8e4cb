//! One part of the keys, under one lock: their states, each in as few words as it takes.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use tollgate_core::Time;
use tollgate_core::storage::State;

use super::record::{CompactState, Layout, Row, Word};
use super::table::Table;

/// How many places of each table every new key sweeps, from its home on. More than one, so that the
/// dead are fewer than the living however fast keys come and go.
const SWEPT_PER_KEY: usize = 8;
/// As few states as this are not worth sweeping.
const FEW: usize = 64;

/// A state is in exactly one of the three.
///
/// Together with its lock it fills one cache line, so that finding a state takes two: this, and the
/// one it is in.
#[derive(Default)]
pub(super) struct Shard {
    /// States of one word.
    words: Table<2, 4>,
    /// States of three words.
    rows: Table<4, 2>,
    /// How many there are of each.
    words_used: u32,
    rows_used: u32,
    /// What takes more: slots, leases, open reservations, and terms that have no number.
    whole: Option<Box<Whole>>,
}

/// States that are kept as they are.
#[derive(Default)]
struct Whole {
    states: HashMap<u64, State, BuildHasherDefault<FingerprintHasher>>,
    /// At how many of them to sweep next.
    sweep_at: usize,
}

impl Shard {
    /// The record of a state of one word.
    #[inline(always)]
    pub(super) fn word(&mut self, fingerprint: u64) -> Option<&mut Word> {
        self.words.find(fingerprint)
    }

    /// The record of a state of three words.
    #[inline(always)]
    pub(super) fn row(&mut self, fingerprint: u64) -> Option<&mut Row> {
        self.rows.find(fingerprint)
    }

    /// Whether there is any state of this fingerprint.
    pub(super) fn has(&mut self, fingerprint: u64) -> bool {
        let in_whole = |whole: &Whole| whole.states.contains_key(&fingerprint);
        self.words.find(fingerprint).is_some()
            || self.rows.find(fingerprint).is_some()
            || self.whole.as_deref().is_some_and(in_whole)
    }

    /// Has the processor fetch where a state would be.
    #[inline]
    pub(super) fn prefetch(&self, fingerprint: u64) {
        self.words.prefetch(fingerprint);
        self.rows.prefetch(fingerprint);
    }

    /// Takes the state out, to be put back by [`put`](Shard::put) whatever happens.
    pub(super) fn lend(&mut self, layout: &Layout, fingerprint: u64) -> Option<State> {
        if let Some(record) = self.words.remove(&mut self.words_used, fingerprint) {
            return layout.open_word(record).map(State::from);
        }
        if let Some(row) = self.rows.remove(&mut self.rows_used, fingerprint) {
            return layout.open_row(row).map(State::from);
        }
        self.whole.as_mut()?.states.remove(&fingerprint)
    }

    /// Puts back what was lent, or what has become of it. Answers how many others were dropped on
    /// the way because they had reset.
    pub(super) fn put(
        &mut self,
        layout: &Layout,
        fingerprint: u64,
        state: State,
        now: Time,
    ) -> usize {
        self.keep(layout, fingerprint, layout.fold(state), now)
    }

    /// The same for a state that is in as few words as it takes already.
    pub(super) fn keep(
        &mut self,
        layout: &Layout,
        fingerprint: u64,
        kept: CompactState,
        now: Time,
    ) -> usize {
        let horizon = layout.horizon(now);
        match kept {
            CompactState::Word(word) => {
                let keep = words_after(layout, horizon);
                self.words.insert(&mut self.words_used, [fingerprint, word], keep)
            }
            CompactState::Row([a, b, c]) => {
                let keep = rows_after(layout, horizon);
                self.rows.insert(&mut self.rows_used, [fingerprint, a, b, c], keep)
            }
            CompactState::Whole(state) => {
                self.whole.get_or_insert_default().insert(fingerprint, state, horizon)
            }
        }
    }

    /// Drops what has reset among a few places from the home of a new key on. Answers how many.
    pub(super) fn sweep_few(&mut self, layout: &Layout, fingerprint: u64, now: Time) -> usize {
        self.sweep(layout, fingerprint, SWEPT_PER_KEY, layout.horizon(now))
    }

    fn sweep(&mut self, layout: &Layout, fingerprint: u64, few: usize, horizon: Time) -> usize {
        let keep = words_after(layout, horizon);
        let words = self.words.sweep(&mut self.words_used, fingerprint, few, keep);
        let keep = rows_after(layout, horizon);
        words.saturating_add(self.rows.sweep(&mut self.rows_used, fingerprint, few, keep))
    }

    /// Drops everything that has reset, without slack. Answers how many that were.
    pub(super) fn sweep_all(&mut self, layout: &Layout, now: Time) -> usize {
        let places = self.words.places().max(self.rows.places());
        let whole = self.whole.as_mut().map_or(0, |whole| whole.sweep(now));
        self.sweep(layout, 0, places, now).saturating_add(whole)
    }

    /// The first instant when something will have reset; `None` if there is nothing.
    pub(super) fn first_expiry(&self, layout: &Layout) -> Option<Time> {
        let words = self.words.iter().filter_map(|record| layout.open_word(*record));
        let rows = self.rows.iter().filter_map(|row| layout.open_row(*row));
        let packed = words.chain(rows).map(|state| state.expires());
        packed.chain(self.whole().map(|(_, state)| state.expires())).min()
    }

    /// How many states there are.
    pub(super) fn len(&self) -> usize {
        let packed = self.words_used.saturating_add(self.rows_used) as usize;
        packed.saturating_add(self.whole.as_ref().map_or(0, |whole| whole.states.len()))
    }

    fn whole(&self) -> impl Iterator<Item = (&u64, &State)> {
        self.whole.iter().flat_map(|whole| &whole.states)
    }

    /// All states with their fingerprints.
    pub(super) fn states(&self, layout: &Layout) -> impl Iterator<Item = (u64, State)> {
        let words = self.words.iter().map(|record| (record[0], layout.open_word(*record)));
        let rows = self.rows.iter().map(|row| (row[0], layout.open_row(*row)));
        let packed =
            words.chain(rows).filter_map(|(fingerprint, state)| Some((fingerprint, state?.into())));
        packed.chain(self.whole().map(|(fingerprint, state)| (*fingerprint, state.clone())))
    }
}

impl Whole {
    /// Answers how many others were dropped on the way because they had reset.
    fn insert(&mut self, fingerprint: u64, state: State, horizon: Time) -> usize {
        let crowded = self.states.len() >= self.sweep_at.max(FEW);
        let swept = if crowded { self.sweep(horizon) } else { 0 };
        self.states.insert(fingerprint, state);
        swept
    }

    fn sweep(&mut self, horizon: Time) -> usize {
        let before = self.states.len();
        self.states.retain(|_, state| horizon < state.expires());
        self.sweep_at = self.states.len().saturating_mul(2);
        before.saturating_sub(self.states.len())
    }
}

/// Which states had not reset by then.
fn words_after(layout: &Layout, horizon: Time) -> impl FnMut(&Word) -> bool {
    move |record| layout.word_lasts(*record, horizon)
}

fn rows_after(layout: &Layout, horizon: Time) -> impl FnMut(&Row) -> bool {
    move |row| layout.open_row(*row).is_some_and(|state| horizon < state.expires())
}

/// A fingerprint is a hash already.
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
