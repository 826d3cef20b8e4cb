//! A state as the record of a table: in as few words as it takes, with the number of its terms above.

use tollgate_core::storage::{Packed, State};
use tollgate_core::{Decision, Span, Time};

use super::check::Asked;
use super::terms::TermsList;

/// What all shards of a store read their states by.
pub(super) struct Layout {
    pub(super) terms: TermsList,
    /// Where states of one word count from.
    pub(super) origin: Time,
    /// How long a state is kept past its reset.
    pub(super) slack: Span,
}

/// The record of a state of one word: its fingerprint, and the word with the number of terms above.
pub(super) type Word = [u64; 2];
/// The record of a state of three words: its fingerprint, and the words with the number above the last two.
pub(super) type Row = [u64; 4];

/// A state in as few words as it takes.
pub(super) enum CompactState {
    Word(u64),
    Row([u64; 3]),
    Whole(State),
}

/// Where the state of one word ends and its number of terms begins.
const WORD_BITS: u32 = Packed::ONE_WORD_BITS;
/// The same in the last two words of a row; each has one half of the number.
const ROW_BITS: u32 = Packed::WORD_BITS;
const HALF_NUMBER: u32 = u64::BITS - ROW_BITS;

#[inline]
fn low(word: u64, bits: u32) -> u64 {
    word & (1_u64 << bits).wrapping_sub(1)
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "what is above the state is at most 11 bits")]
fn above(word: u64, bits: u32) -> u32 {
    (word >> bits) as u32
}

/// What is above the old word, above another.
#[inline]
fn keeping(old: u64, bits: u32, word: u64) -> u64 {
    old >> bits << bits | word
}

#[inline]
fn beside(number: u32, bits: u32, word: u64) -> u64 {
    u64::from(number) << bits | word
}

/// Whether there is room for this number of terms above a state of one word.
#[inline]
fn fits_above_word(number: u32) -> bool {
    number >> (u64::BITS - WORD_BITS) == 0
}

/// The number of terms in the record of a state of one word, and the word.
#[inline]
pub(super) fn parts_of_word([_, word]: Word) -> (u32, u64) {
    (above(word, WORD_BITS), low(word, WORD_BITS))
}

/// The record with another state of one word under the same terms.
#[inline]
pub(super) fn with_word([fingerprint, old]: Word, word: u64) -> Word {
    [fingerprint, keeping(old, WORD_BITS, word)]
}

/// The number of terms in the record of a state of three words, and the words.
#[inline]
pub(super) fn parts_of_row([_, a, b, c]: Row) -> (u32, [u64; 3]) {
    let number = above(c, ROW_BITS) << HALF_NUMBER | above(b, ROW_BITS);
    (number, [a, low(b, ROW_BITS), low(c, ROW_BITS)])
}

/// The record with another state of three words under the same terms.
#[inline]
pub(super) fn with_row([fingerprint, _, b_old, c_old]: Row, [a, b, c]: [u64; 3]) -> Row {
    [fingerprint, a, keeping(b_old, ROW_BITS, b), keeping(c_old, ROW_BITS, c)]
}

impl Layout {
    /// What had reset by then is dropped when it is met.
    pub(super) fn horizon(&self, now: Time) -> Time {
        let micros = now.as_micros().saturating_sub(self.slack.as_micros());
        Time::from_micros(micros).unwrap_or(now)
    }

    pub(super) fn open_word(&self, record: Word) -> Option<Packed> {
        let (number, word) = parts_of_word(record);
        Packed::from_one_word(*self.terms.get(number)?, self.origin, word)
    }

    /// Whether a state of one word had not reset by then.
    #[inline]
    pub(super) fn word_lasts(&self, record: Word, past: Time) -> bool {
        let (number, word) = parts_of_word(record);
        self.terms.get(number).is_some_and(|terms| terms.word_lasts(word, self.origin, past))
    }

    pub(super) fn open_row(&self, row: Row) -> Option<Packed> {
        let (number, words) = parts_of_row(row);
        Some(Packed::new(*self.terms.get(number)?, words))
    }

    /// The first check of a key, and the state it leaves, if any; `None` if it takes more.
    pub(super) fn check_first(
        &self,
        asked: &Asked<'_>,
        now: Time,
    ) -> Option<(Decision, Option<CompactState>)> {
        let Asked { limit, cost, .. } = *asked;
        let number = match asked.number {
            Some(number) => number.get(),
            None => self.terms.number(&limit.terms()?)?,
        };
        if fits_above_word(number)
            && let Some((decision, word)) = limit.check_word(0, self.origin, cost, now)
        {
            let kept =
                decision.allowed.then(|| CompactState::Word(beside(number, WORD_BITS, word)));
            return Some((decision, kept));
        }
        let checked = limit.check_words(None, cost, now)?;
        Some((
            checked.decision,
            checked.words.map(|words| CompactState::Row(Layout::row(number, words))),
        ))
    }

    fn row(number: u32, [a, b, c]: [u64; 3]) -> [u64; 3] {
        let half = low(u64::from(number), HALF_NUMBER);
        [a, half << ROW_BITS | b, beside(number >> HALF_NUMBER, ROW_BITS, c)]
    }

    pub(super) fn fold(&self, state: State) -> CompactState {
        let Some(packed) = state.packed() else { return CompactState::Whole(state) };
        let Some(number) = self.terms.number(&packed.terms()) else {
            return CompactState::Whole(state);
        };
        let short = packed.one_word(self.origin).filter(|_| fits_above_word(number));
        match short {
            Some(word) => CompactState::Word(beside(number, WORD_BITS, word)),
            None => CompactState::Row(Layout::row(number, packed.words())),
        }
    }
}
