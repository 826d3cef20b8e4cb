//! One part of the keys, under one lock: their states, each in as few words as it takes.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::num::NonZeroU32;

use tollgate_core::{Decision, Limit, Packed, Span, State, Time};

use super::table::Table;
use super::terms::TermsList;

/// How many places of each table every new key sweeps. More than one, so that the dead are fewer
/// than the living however fast keys come and go.
const SWEPT_PER_KEY: usize = 4;
/// As few states as this are not worth sweeping.
const FEW: usize = 64;

/// What all shards of a store read their states by.
pub(super) struct Frame {
    pub(super) terms: TermsList,
    /// Where states of one word count from.
    pub(super) origin: Time,
    /// How long a state is kept past its reset.
    pub(super) slack: Span,
}

/// A state is in exactly one of the three.
#[derive(Default)]
pub(super) struct Shard {
    /// Mark, and a number of terms above a state of one word.
    words: Table<2, 4>,
    /// Mark, and three words with a number of terms above the last two.
    rows: Table<4, 2>,
    /// What takes more: slots, leases, open reservations, and terms that have no number.
    whole: Option<Box<Whole>>,
}

/// States that are kept as they are.
#[derive(Default)]
struct Whole {
    states: HashMap<u64, State, BuildHasherDefault<Mark>>,
    /// At how many of them to sweep next.
    sweep_at: usize,
}

/// A state in as few words as it takes.
enum Kept {
    Word(u64),
    Row([u64; 3]),
    Whole(State),
}

/// Where the state of one word ends and its number of terms begins.
const WORD_BITS: u32 = Packed::ONE_WORD_BITS;
/// The same in the last two words of a row; each has one half of the number.
const ROW_BITS: u32 = Packed::WORD_BITS;
const HALF_NUMBER: u32 = u64::BITS - ROW_BITS;

fn low(word: u64, bits: u32) -> u64 {
    word & (1_u64 << bits).wrapping_sub(1)
}

#[expect(clippy::cast_possible_truncation, reason = "what is above the state is at most 11 bits")]
fn above(word: u64, bits: u32) -> u32 {
    (word >> bits) as u32
}

fn beside(number: u32, bits: u32, word: u64) -> u64 {
    u64::from(number) << bits | word
}

/// The number of terms in a row, and the words of the state.
#[inline]
fn parts_of([_, a, b, c]: [u64; 4]) -> (u32, [u64; 3]) {
    let number = above(c, ROW_BITS) << HALF_NUMBER | above(b, ROW_BITS);
    (number, [a, low(b, ROW_BITS), low(c, ROW_BITS)])
}

/// A check of one limit.
pub(crate) struct Asked<'a> {
    pub(crate) limit: &'a Limit,
    /// The number of its terms, if that is known already.
    pub(crate) number: Option<NonZeroU32>,
    pub(crate) cost: u64,
}

impl Asked<'_> {
    /// Whether the terms of this number are those of the limit.
    #[inline(always)]
    fn is_under(&self, number: u32, frame: &Frame) -> bool {
        match self.number {
            Some(own) => own.get() == number,
            None => frame.terms.get(number).is_some_and(|terms| terms.are_of(self.limit)),
        }
    }
}

impl Frame {
    /// What had reset by then is dropped when it is met.
    fn horizon(&self, now: Time) -> Time {
        let micros = now.as_micros().saturating_sub(self.slack.as_micros());
        Time::from_micros(micros).unwrap_or(now)
    }

    fn open_word(&self, word: u64) -> Option<Packed> {
        let terms = self.terms.get(above(word, WORD_BITS))?;
        Packed::from_one_word(*terms, self.origin, low(word, WORD_BITS))
    }

    fn open_row(&self, row: [u64; 4]) -> Option<Packed> {
        let (number, words) = parts_of(row);
        Some(Packed::new(*self.terms.get(number)?, words))
    }

    fn row(number: u32, [a, b, c]: [u64; 3]) -> [u64; 3] {
        let half = low(u64::from(number), HALF_NUMBER);
        [a, half << ROW_BITS | b, beside(number >> HALF_NUMBER, ROW_BITS, c)]
    }

    fn fold(&self, state: State) -> Kept {
        let Some(packed) = state.packed() else { return Kept::Whole(state) };
        let Some(number) = self.terms.number(&packed.terms()) else { return Kept::Whole(state) };
        let short = packed.one_word(self.origin).filter(|_| number >> (u64::BITS - WORD_BITS) == 0);
        match short {
            Some(word) => Kept::Word(beside(number, WORD_BITS, word)),
            None => Kept::Row(Frame::row(number, packed.words())),
        }
    }
}

impl Shard {
    /// Checks a key whose state is one word under the limit's own terms; `None` if it takes more.
    #[inline(always)]
    pub(super) fn check_word(
        &mut self,
        frame: &Frame,
        asked: &Asked<'_>,
        mark: u64,
        now: Time,
    ) -> Option<Decision> {
        let [_, record] = self.words.find(mark)?;
        let number = above(*record, WORD_BITS);
        if !asked.is_under(number, frame) {
            return None;
        }
        let word = low(*record, WORD_BITS);
        let (decision, word) = asked.limit.check_word(word, frame.origin, asked.cost, now)?;
        *record = beside(number, WORD_BITS, word);
        Some(decision)
    }

    /// Checks a key whose state is a row under the limit's own terms; `None` if it takes more.
    #[inline(always)]
    pub(super) fn check_row(
        &mut self,
        frame: &Frame,
        asked: &Asked<'_>,
        mark: u64,
        now: Time,
    ) -> Option<Decision> {
        let row = self.rows.find(mark)?;
        let (number, words) = parts_of(*row);
        if !asked.is_under(number, frame) {
            return None;
        }
        let packed = Packed::new(asked.limit.terms()?, words);
        let checked = asked.limit.check_packed(Some(packed), asked.cost, now)?;
        if let Some([a, b, c]) = checked.words {
            let beside = |place: u64, word: u64| place >> ROW_BITS << ROW_BITS | word;
            *row = [mark, a, beside(row[2], b), beside(row[3], c)];
        }
        Some(checked.decision)
    }

    /// Reads where the state would be, so that it is near when it is wanted.
    #[inline]
    pub(super) fn touch(&self, limit: &Limit, mark: u64) -> u64 {
        if limit.may_fit_one_word() { self.words.touch(mark) } else { self.rows.touch(mark) }
    }

    /// Takes the state out, to be put back by [`put`](Shard::put) whatever happens.
    pub(super) fn lend(&mut self, frame: &Frame, mark: u64) -> Option<State> {
        if let Some([_, word]) = self.words.remove(mark) {
            return frame.open_word(word).map(State::from);
        }
        if let Some(row) = self.rows.remove(mark) {
            return frame.open_row(row).map(State::from);
        }
        self.whole.as_mut()?.states.remove(&mark)
    }

    /// Puts back what was lent, or what has become of it. Answers how many others were dropped on
    /// the way because they had reset.
    pub(super) fn put(&mut self, frame: &Frame, mark: u64, state: State, now: Time) -> usize {
        let horizon = frame.horizon(now);
        match frame.fold(state) {
            Kept::Word(word) => self.words.insert([mark, word], words_after(frame, horizon)),
            Kept::Row([a, b, c]) => self.rows.insert([mark, a, b, c], rows_after(frame, horizon)),
            Kept::Whole(state) => self.whole.get_or_insert_default().insert(mark, state, horizon),
        }
    }

    /// Drops what has reset among the next few states, as is done for every new key. Answers how
    /// many.
    pub(super) fn sweep_few(&mut self, frame: &Frame, now: Time) -> usize {
        self.sweep(frame, SWEPT_PER_KEY, frame.horizon(now))
    }

    fn sweep(&mut self, frame: &Frame, few: usize, horizon: Time) -> usize {
        let words = self.words.sweep(few, words_after(frame, horizon));
        words.saturating_add(self.rows.sweep(few, rows_after(frame, horizon)))
    }

    /// Drops everything that has reset, without slack. Answers how many that were.
    pub(super) fn sweep_all(&mut self, frame: &Frame, now: Time) -> usize {
        let places = self.words.places().max(self.rows.places());
        let whole = self.whole.as_mut().map_or(0, |whole| whole.sweep(now));
        self.sweep(frame, places, now).saturating_add(whole)
    }

    /// The first instant when something will have reset; `None` if there is nothing.
    pub(super) fn first_expiry(&self, frame: &Frame) -> Option<Time> {
        let words = self.words.iter().filter_map(|[_, word]| frame.open_word(*word));
        let rows = self.rows.iter().filter_map(|row| frame.open_row(*row));
        let packed = words.chain(rows).map(|state| state.expires());
        packed.chain(self.whole().map(|(_, state)| state.expires())).min()
    }

    /// How many states there are.
    pub(super) fn len(&self) -> usize {
        let packed = self.words.len().saturating_add(self.rows.len());
        packed.saturating_add(self.whole.as_ref().map_or(0, |whole| whole.states.len()))
    }

    fn whole(&self) -> impl Iterator<Item = (&u64, &State)> {
        self.whole.iter().flat_map(|whole| &whole.states)
    }

    /// All states with their marks.
    pub(super) fn states(&self, frame: &Frame) -> impl Iterator<Item = (u64, State)> {
        let words = self.words.iter().map(|[mark, word]| (*mark, frame.open_word(*word)));
        let rows = self.rows.iter().map(|row| (row[0], frame.open_row(*row)));
        let packed = words.chain(rows).filter_map(|(mark, state)| Some((mark, state?.into())));
        packed.chain(self.whole().map(|(mark, state)| (*mark, state.clone())))
    }
}

impl Whole {
    /// Answers how many others were dropped on the way because they had reset.
    fn insert(&mut self, mark: u64, state: State, horizon: Time) -> usize {
        let crowded = self.states.len() >= self.sweep_at.max(FEW);
        let swept = if crowded { self.sweep(horizon) } else { 0 };
        self.states.insert(mark, state);
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
fn words_after(frame: &Frame, horizon: Time) -> impl FnMut(&[u64; 2]) -> bool {
    move |[_, word]| frame.open_word(*word).is_some_and(|state| horizon < state.expires())
}

fn rows_after(frame: &Frame, horizon: Time) -> impl FnMut(&[u64; 4]) -> bool {
    move |row| frame.open_row(*row).is_some_and(|state| horizon < state.expires())
}

/// A mark is a hash already.
#[derive(Default)]
struct Mark(u64);

impl Hasher for Mark {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, mark: u64) {
        self.0 = mark;
    }
}
