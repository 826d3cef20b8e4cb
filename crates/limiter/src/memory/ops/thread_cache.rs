//! A cache in each thread of the last few keys it checked: their hash, and the record that denied
//! them.
//!
//! A limiter is hammered with few keys, and those are denied. For such a key hashing is a third of
//! the work, and locking its shard another: neither is needed again while nothing changes.

use std::cell::RefCell;

use crate::memory::store::StoreNumber;
use crate::memory::table::hash::{Hash, Salt};
use crate::memory::table::record::{OneWordRecord, ThreeWordRecord};

/// Maximum length of a cached key in bytes. Longer keys are hashed every time.
const MAX_KEY_BYTES: usize = 40;
/// Number of keys that each thread caches.
const CACHED_KEYS: usize = 8;

thread_local! {
    static CACHE: RefCell<[CachedDenial; CACHED_KEYS]> = const { RefCell::new([CachedDenial::NONE; CACHED_KEYS]) };
}

/// A cached key.
pub(super) struct CachedDenial {
    store: StoreNumber,
    salt: Salt,
    length: usize,
    bytes: [u8; MAX_KEY_BYTES],
    hash: Hash,
    /// The record that denied the key, if it had one word.
    one_word: Seen<OneWordRecord>,
    /// The record that denied the key, if it had three words.
    three_words: Seen<ThreeWordRecord>,
}

/// A record, and the version of its shard when the record was read.
#[derive(Clone, Copy)]
pub(super) struct Seen<R> {
    pub(super) record: R,
    /// Zero if no record was read.
    pub(super) version: u64,
}

/// A record that a [`CachedDenial`] has a field for.
pub(super) trait Cached: Copy {
    fn seen(cached: &mut CachedDenial) -> &mut Seen<Self>;
}

impl Cached for OneWordRecord {
    #[inline(always)]
    fn seen(cached: &mut CachedDenial) -> &mut Seen<OneWordRecord> {
        &mut cached.one_word
    }
}

impl Cached for ThreeWordRecord {
    #[inline(always)]
    fn seen(cached: &mut CachedDenial) -> &mut Seen<ThreeWordRecord> {
        &mut cached.three_words
    }
}

/// Returns the hash of a key, and the version of its shard when its [record](cached_record) was
/// cached. Caches the hash if the key is short enough.
#[inline(always)]
pub(super) fn cached_hash<R: Cached>(store: StoreNumber, salt: Salt, key: &[u8]) -> (Hash, u64) {
    with_entry(key, |cached| {
        if !cached.is_for(store, salt, key) {
            if key.len() > MAX_KEY_BYTES {
                return (salt.hash(key), 0);
            }
            cached.replace(store, salt, key);
        }
        (cached.hash, R::seen(cached).version)
    })
}

/// Returns the cached record of a key for which [`cached_hash`] was just called.
#[inline(always)]
pub(super) fn cached_record<R: Cached>(key: &[u8]) -> R {
    with_entry(key, |cached| R::seen(cached).record)
}

/// Caches the record of a key for which [`cached_hash`] was just called.
#[inline]
pub(super) fn cache_record<R: Cached>(key: &[u8], seen: Seen<R>) {
    if key.len() <= MAX_KEY_BYTES {
        with_entry(key, |cached| *R::seen(cached) = seen);
    }
}

#[inline(always)]
fn with_entry<T>(key: &[u8], act: impl FnOnce(&mut CachedDenial) -> T) -> T {
    // Keys that differ tend to differ in their last byte.
    let last = usize::from(key.last().copied().unwrap_or(0));
    #[expect(clippy::indexing_slicing, reason = "a remainder is below its divisor")]
    CACHE.with_borrow_mut(|cache| act(&mut cache[last % CACHED_KEYS]))
}

impl CachedDenial {
    const NONE: CachedDenial = CachedDenial {
        store: StoreNumber::NONE,
        salt: Salt(0, 0),
        length: 0,
        bytes: [0; MAX_KEY_BYTES],
        hash: Hash { shard: 0, fingerprint: 0 },
        one_word: Seen { record: [0; 2], version: 0 },
        three_words: Seen { record: [0; 4], version: 0 },
    };

    #[inline(always)]
    fn is_for(&self, store: StoreNumber, salt: Salt, key: &[u8]) -> bool {
        self.length == key.len()
            && (self.store, self.salt) == (store, salt)
            && self.bytes.get(..key.len()).is_some_and(|bytes| same_bytes(bytes, key))
    }

    #[inline(never)]
    fn replace(&mut self, store: StoreNumber, salt: Salt, key: &[u8]) {
        (self.store, self.salt, self.length) = (store, salt, key.len());
        if let Some(bytes) = self.bytes.get_mut(..key.len()) {
            bytes.copy_from_slice(key);
        }
        self.hash = salt.hash(key);
        (self.one_word.version, self.three_words.version) = (0, 0);
    }
}

/// Compares two short keys of the same length, word by word: calling `memcmp`, which is made for
/// long ones, takes longer.
#[inline]
fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    let (Some(end), Some(other)) = (a.last_chunk::<8>(), b.last_chunk::<8>()) else {
        return a == b;
    };
    let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
    let mut pairs = a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0);
    word(end) == word(other) && pairs.all(|(one, other)| word(one) == word(other))
}
