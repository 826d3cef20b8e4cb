//! What each thread remembers of the last few keys it asked about.
//!
//! A limiter is hammered with few keys, and those are denied. For such a key hashing is a third of
//! the work, and the lock of its shard another: neither is needed twice while nothing changes.

use std::cell::RefCell;

use super::check::Record;
use super::hash::{Hash, Salt};
use super::record::{Row, Word};

/// How many bytes of a key are remembered; longer ones are hashed every time.
const SHORT: usize = 40;
/// How many keys each thread remembers.
const MEMOS: usize = 8;

thread_local! {
    static RECENT: RefCell<[Memo; MEMOS]> = const { RefCell::new([Memo::NONE; MEMOS]) };
}

/// What is remembered of one key.
pub(super) struct Memo {
    salt: Salt,
    length: usize,
    bytes: [u8; SHORT],
    pub(super) hash: Hash,
    /// Its record, if that was a word when it was denied.
    pub(super) word: Seen<Word>,
    /// The same, if that was a row.
    pub(super) row: Seen<Row>,
}

/// A record, and how often its shard had changed by then.
#[derive(Clone, Copy)]
pub(super) struct Seen<R> {
    pub(super) record: R,
    /// Zero if nothing was seen.
    pub(super) changes: u64,
}

/// The hash of a key, and how often its shard had changed when its [record](seen) was seen.
#[inline(always)]
pub(super) fn recall<R: Record>(salt: Salt, key: &[u8]) -> (Hash, u64) {
    with_memo(key, |memo| {
        if !memo.is_of(salt, key) {
            memo.learn(salt, key);
        }
        (memo.hash, R::seen(memo).changes)
    })
}

/// What was seen of the record of a key that was just [recalled](recall).
#[inline(always)]
pub(super) fn seen<R: Record>(key: &[u8]) -> R {
    with_memo(key, |memo| R::seen(memo).record)
}

/// Keeps what was seen of the record of a key that was just [recalled](recall).
#[inline]
pub(super) fn remember<R: Record>(key: &[u8], seen: Seen<R>) {
    with_memo(key, |memo| *R::seen(memo) = seen);
}

#[inline(always)]
fn with_memo<T>(key: &[u8], act: impl FnOnce(&mut Memo) -> T) -> T {
    // Keys that differ tend to differ in their last byte.
    let last = usize::from(key.last().copied().unwrap_or(0));
    #[expect(clippy::indexing_slicing, reason = "a remainder is below its divisor")]
    RECENT.with_borrow_mut(|recent| act(&mut recent[last % MEMOS]))
}

impl Memo {
    const NONE: Memo = Memo {
        salt: Salt(0, 0),
        length: 0,
        bytes: [0; SHORT],
        hash: Hash { shard: 0, mark: 0 },
        word: Seen { record: [0; 2], changes: 0 },
        row: Seen { record: [0; 4], changes: 0 },
    };

    #[inline(always)]
    fn is_of(&self, salt: Salt, key: &[u8]) -> bool {
        self.length == key.len()
            && self.salt == salt
            && self.bytes.get(..key.len()).is_some_and(|bytes| same(bytes, key))
    }

    #[inline(never)]
    fn learn(&mut self, salt: Salt, key: &[u8]) {
        (self.salt, self.length, self.hash) = (salt, key.len(), salt.hash(key));
        (self.word.changes, self.row.changes) = (0, 0);
        if let Some(bytes) = self.bytes.get_mut(..key.len()) {
            bytes.copy_from_slice(key);
        }
    }
}

/// Whether two short keys of one length are the same: word by word, since calling a function made
/// for long ones takes longer than that.
#[inline]
fn same(a: &[u8], b: &[u8]) -> bool {
    let (Some(end), Some(other)) = (a.last_chunk::<8>(), b.last_chunk::<8>()) else {
        return a == b;
    };
    let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
    let mut pairs = a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0);
    word(end) == word(other) && pairs.all(|(one, other)| word(one) == word(other))
}
