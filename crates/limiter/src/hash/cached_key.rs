//! The last few keys that a thread has hashed.
//!
//! A limiter is hammered with few keys, and for those hashing is a good part of the work.

use std::cell::RefCell;

use super::{Hash, Salt};

/// Maximum length of a cached key in bytes. Longer keys are hashed every time.
pub(crate) const MAX_CACHED_BYTES: usize = 40;
/// Number of keys that each thread caches.
pub(crate) const CACHED_KEYS: usize = 8;

thread_local! {
    static CACHE: RefCell<[CachedKey; CACHED_KEYS]> = const { RefCell::new([CachedKey::NONE; CACHED_KEYS]) };
}

/// A key with its hash.
pub(crate) struct CachedKey {
    salt: Salt,
    length: usize,
    bytes: [u8; MAX_CACHED_BYTES],
    hash: Hash,
}

/// Returns the place of a key in a cache. Keys that differ tend to differ in their last byte.
#[inline(always)]
pub(crate) fn place_of(key: &[u8]) -> usize {
    usize::from(key.last().copied().unwrap_or(0)) % CACHED_KEYS
}

/// Returns the hash of a key, which it has cached if the key is short enough.
#[inline]
pub(super) fn cached_hash(salt: Salt, key: &[u8]) -> Hash {
    if key.len() > MAX_CACHED_BYTES {
        return salt.hash(key);
    }
    #[expect(clippy::indexing_slicing, reason = "every place is below the number of keys")]
    CACHE.with_borrow_mut(|cache| {
        let cached = &mut cache[place_of(key)];
        if !cached.is_for(salt, key) {
            cached.replace(salt, key);
        }
        cached.hash()
    })
}

impl CachedKey {
    pub(crate) const NONE: CachedKey = CachedKey {
        salt: Salt(0, 0),
        length: 0,
        bytes: [0; MAX_CACHED_BYTES],
        hash: Hash { shard: 0, fingerprint: 0 },
    };

    #[inline(always)]
    pub(crate) fn hash(&self) -> Hash {
        self.hash
    }

    #[inline(always)]
    pub(crate) fn is_for(&self, salt: Salt, key: &[u8]) -> bool {
        self.length == key.len()
            && self.salt == salt
            && self.bytes.get(..key.len()).is_some_and(|bytes| same_bytes(bytes, key))
    }

    #[inline(never)]
    pub(crate) fn replace(&mut self, salt: Salt, key: &[u8]) {
        (self.salt, self.length) = (salt, key.len());
        if let Some(bytes) = self.bytes.get_mut(..key.len()) {
            bytes.copy_from_slice(key);
        }
        self.hash = salt.hash(key);
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
