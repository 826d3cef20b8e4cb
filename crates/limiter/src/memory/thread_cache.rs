//! What each thread remembers of the last few keys it asked about.
//!
//! A limiter is hammered with few keys, and those are denied. For such a key hashing is a third of
//! the work, and the lock of its shard another: neither is needed twice while nothing changes.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use super::check::Record;
use super::hash::{Hash, Salt};
use super::record::{Row, Word};

/// How many bytes of a key are remembered; longer ones are hashed every time.
const SHORT: usize = 40;
/// How many keys each thread remembers.
const CACHED_KEYS: usize = 8;

thread_local! {
    static RECENT: RefCell<[CachedDenial; CACHED_KEYS]> = const { RefCell::new([CachedDenial::NONE; CACHED_KEYS]) };
}

/// Which of the stores of this process. Those that were restored from one snapshot hash alike, and
/// must not be taken for each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct StoreNumber(u64);

impl StoreNumber {
    /// One that no other store has.
    pub(super) fn next() -> StoreNumber {
        static LAST: AtomicU64 = AtomicU64::new(0);
        StoreNumber(LAST.fetch_add(1, Ordering::Relaxed).wrapping_add(1))
    }
}

/// What is remembered of one key.
pub(super) struct CachedDenial {
    store: StoreNumber,
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
pub(super) fn recall<R: Record>(store: StoreNumber, salt: Salt, key: &[u8]) -> (Hash, u64) {
    with_cached(key, |cached| {
        if !cached.is_of(store, salt, key) {
            if key.len() > SHORT {
                return (salt.hash(key), 0);
            }
            cached.learn(store, salt, key);
        }
        (cached.hash, R::seen(cached).changes)
    })
}

/// What was seen of the record of a key that was just [recalled](recall).
#[inline(always)]
pub(super) fn seen<R: Record>(key: &[u8]) -> R {
    with_cached(key, |cached| R::seen(cached).record)
}

/// Keeps what was seen of the record of a key that was just [recalled](recall).
#[inline]
pub(super) fn remember<R: Record>(key: &[u8], seen: Seen<R>) {
    if key.len() <= SHORT {
        with_cached(key, |cached| *R::seen(cached) = seen);
    }
}

#[inline(always)]
fn with_cached<T>(key: &[u8], act: impl FnOnce(&mut CachedDenial) -> T) -> T {
    // Keys that differ tend to differ in their last byte.
    let last = usize::from(key.last().copied().unwrap_or(0));
    #[expect(clippy::indexing_slicing, reason = "a remainder is below its divisor")]
    RECENT.with_borrow_mut(|recent| act(&mut recent[last % CACHED_KEYS]))
}

impl CachedDenial {
    const NONE: CachedDenial = CachedDenial {
        store: StoreNumber(0),
        salt: Salt(0, 0),
        length: 0,
        bytes: [0; SHORT],
        hash: Hash { shard: 0, fingerprint: 0 },
        word: Seen { record: [0; 2], changes: 0 },
        row: Seen { record: [0; 4], changes: 0 },
    };

    #[inline(always)]
    fn is_of(&self, store: StoreNumber, salt: Salt, key: &[u8]) -> bool {
        self.length == key.len()
            && (self.store, self.salt) == (store, salt)
            && self.bytes.get(..key.len()).is_some_and(|bytes| same(bytes, key))
    }

    #[inline(never)]
    fn learn(&mut self, store: StoreNumber, salt: Salt, key: &[u8]) {
        (self.store, self.salt, self.length) = (store, salt, key.len());
        if let Some(bytes) = self.bytes.get_mut(..key.len()) {
            bytes.copy_from_slice(key);
        }
        self.hash = salt.hash(key);
        (self.word.changes, self.row.changes) = (0, 0);
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
