//! Records of a table: a fingerprint, and a state of one word, of three, or of the four of a lone lease, with the index
//! of its [terms](super::terms) in the high bits.

use tollgate_core::storage::Packed;

/// The record of a state of one word: its fingerprint, and the word with the terms index above it.
pub(crate) type OneWordRecord = [u64; 2];
/// The record of a state of three words: its fingerprint, and the words with the terms index above
/// the last two.
pub(crate) type ThreeWordRecord = [u64; 4];
/// The record of a lone lease: its fingerprint, and the words with the terms index above the last two.
pub(crate) type LeaseRecord = [u64; 5];

/// A state in its shortest form. The words include the terms index.
#[derive(Clone, Copy)]
pub(crate) enum CompactState {
    OneWord(u64),
    ThreeWords([u64; 3]),
    LoneLease([u64; 4]),
}

/// In which of the collections of a shard a state lies.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    OneWord,
    ThreeWords,
    LoneLease,
    /// Several leases, or one with reservations.
    Leases,
    /// Any other.
    Whole,
}

impl CompactState {
    pub(crate) fn form(&self) -> Form {
        match self {
            CompactState::OneWord(_) => Form::OneWord,
            CompactState::ThreeWords(_) => Form::ThreeWords,
            CompactState::LoneLease(_) => Form::LoneLease,
        }
    }
}

/// Number of bits of a state of one word; the bits above are the terms index.
const ONE_WORD_BITS: u32 = Packed::ONE_WORD_BITS;
/// Number of bits of the state in each of the last two of several words; the bits above are one half of
/// the terms index each.
const WORD_BITS: u32 = Packed::WORD_BITS;
const HALF_INDEX_BITS: u32 = u64::BITS - WORD_BITS;

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

/// Adds the terms index to the last two words of a state.
fn join(terms_index: u32, [a, b]: [u64; 2]) -> [u64; 2] {
    let half = low(u64::from(terms_index), HALF_INDEX_BITS);
    [half << WORD_BITS | a, with_high(terms_index >> HALF_INDEX_BITS, WORD_BITS, b)]
}

/// Returns the terms index above the last two words of a record, and the words without it.
#[inline]
fn split([a, b]: [u64; 2]) -> (u32, [u64; 2]) {
    let terms_index = high(b, WORD_BITS) << HALF_INDEX_BITS | high(a, WORD_BITS);
    (terms_index, [low(a, WORD_BITS), low(b, WORD_BITS)])
}

/// Returns the last two words of a state with the terms index above those of an old one.
#[inline]
fn replace([old_a, old_b]: [u64; 2], [a, b]: [u64; 2]) -> [u64; 2] {
    [with_high_of(old_a, WORD_BITS, a), with_high_of(old_b, WORD_BITS, b)]
}

/// Adds the terms index to a state of three words.
pub(crate) fn join_three_words(terms_index: u32, [a, b, c]: [u64; 3]) -> [u64; 3] {
    let [b, c] = join(terms_index, [b, c]);
    [a, b, c]
}

/// Returns the terms index and the state of a record.
#[inline]
pub(crate) fn split_three_words([_, a, b, c]: ThreeWordRecord) -> (u32, [u64; 3]) {
    let (terms_index, [b, c]) = split([b, c]);
    (terms_index, [a, b, c])
}

/// Returns the record with another state under the same terms.
#[inline]
pub(crate) fn replace_three_words(
    [fingerprint, _, old_b, old_c]: ThreeWordRecord,
    [a, b, c]: [u64; 3],
) -> ThreeWordRecord {
    let [b, c] = replace([old_b, old_c], [b, c]);
    [fingerprint, a, b, c]
}

/// Adds the terms index to a lone lease.
pub(crate) fn join_lease(terms_index: u32, [a, b, c, d]: [u64; 4]) -> [u64; 4] {
    let [c, d] = join(terms_index, [c, d]);
    [a, b, c, d]
}

/// Returns the terms index and the lone lease of a record.
#[inline]
pub(crate) fn split_lease([_, a, b, c, d]: LeaseRecord) -> (u32, [u64; 4]) {
    let (terms_index, [c, d]) = split([c, d]);
    (terms_index, [a, b, c, d])
}

/// Returns the record with another lease.
#[inline]
pub(crate) fn replace_lease(
    [fingerprint, _, _, old_c, old_d]: LeaseRecord,
    [a, b, c, d]: [u64; 4],
) -> LeaseRecord {
    let [c, d] = replace([old_c, old_d], [c, d]);
    [fingerprint, a, b, c, d]
}
