//! Records of a table: a fingerprint, and a state of one or three words with the index of its
//! [terms](super::terms) in the high bits.

use tollgate_core::storage::Packed;

/// The record of a state of one word: its fingerprint, and the word with the terms index above it.
pub(crate) type OneWordRecord = [u64; 2];
/// The record of a state of three words: its fingerprint, and the words with the terms index above
/// the last two.
pub(crate) type ThreeWordRecord = [u64; 4];

/// A state in its shortest form. The words include the terms index.
#[derive(Clone, Copy)]
pub(crate) enum CompactState {
    OneWord(u64),
    ThreeWords([u64; 3]),
}

/// In which of the collections of a shard a state lies.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    OneWord,
    ThreeWords,
    Whole,
}

impl CompactState {
    pub(crate) fn form(&self) -> Form {
        match self {
            CompactState::OneWord(_) => Form::OneWord,
            CompactState::ThreeWords(_) => Form::ThreeWords,
        }
    }
}

/// Number of bits of a state of one word; the bits above are the terms index.
const ONE_WORD_BITS: u32 = Packed::ONE_WORD_BITS;
/// Number of bits of the state in each of the last two of three words; the bits above are one half of
/// the terms index each.
const THREE_WORD_BITS: u32 = Packed::WORD_BITS;
const HALF_INDEX_BITS: u32 = u64::BITS - THREE_WORD_BITS;

#[inline]
fn low(word: u64, bits: u32) -> u64 {
    word & (1_u64 << bits).wrapping_sub(1)
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "at most 11 bits are above a state")]
fn high(word: u64, bits: u32) -> u32 {
    (word >> bits) as u32
}

/// Returns `word` with the high bits of `old`.
#[inline]
fn with_high_of(old: u64, bits: u32, word: u64) -> u64 {
    old >> bits << bits | word
}

#[inline]
fn with_high(high: u32, bits: u32, word: u64) -> u64 {
    u64::from(high) << bits | word
}

/// Returns whether this terms index fits above a state of one word.
#[inline]
pub(crate) const fn fits_one_word(terms_index: u32) -> bool {
    terms_index >> (u64::BITS - ONE_WORD_BITS) == 0
}

/// Adds the terms index to a state of one word.
#[inline]
pub(crate) fn join_one_word(terms_index: u32, word: u64) -> u64 {
    with_high(terms_index, ONE_WORD_BITS, word)
}

/// Returns the terms index and the state of a record.
#[inline]
pub(crate) fn split_one_word([_, word]: OneWordRecord) -> (u32, u64) {
    (high(word, ONE_WORD_BITS), low(word, ONE_WORD_BITS))
}

/// Returns the record with another state under the same terms.
#[inline]
pub(crate) fn replace_one_word([fingerprint, old]: OneWordRecord, word: u64) -> OneWordRecord {
    [fingerprint, with_high_of(old, ONE_WORD_BITS, word)]
}

/// Adds the terms index to a state of three words.
pub(crate) fn join_three_words(terms_index: u32, [a, b, c]: [u64; 3]) -> [u64; 3] {
    let half = low(u64::from(terms_index), HALF_INDEX_BITS);
    let b = half << THREE_WORD_BITS | b;
    [a, b, with_high(terms_index >> HALF_INDEX_BITS, THREE_WORD_BITS, c)]
}

/// Returns the terms index and the state of a record.
#[inline]
pub(crate) fn split_three_words([_, a, b, c]: ThreeWordRecord) -> (u32, [u64; 3]) {
    let terms_index = high(c, THREE_WORD_BITS) << HALF_INDEX_BITS | high(b, THREE_WORD_BITS);
    (terms_index, [a, low(b, THREE_WORD_BITS), low(c, THREE_WORD_BITS)])
}

/// Returns the record with another state under the same terms.
#[inline]
pub(crate) fn replace_three_words(
    [fingerprint, _, old_b, old_c]: ThreeWordRecord,
    [a, b, c]: [u64; 3],
) -> ThreeWordRecord {
    let b = with_high_of(old_b, THREE_WORD_BITS, b);
    [fingerprint, a, b, with_high_of(old_c, THREE_WORD_BITS, c)]
}
