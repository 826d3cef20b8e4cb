//! A key that a thread has hashed, for caches of the last few of them.
//!
//! A limiter is hammered with few keys, and for those hashing is a good part of the work.

use super::{Hash, Salt};

/// Maximum length of a cached key in bytes. Longer keys are hashed every time.
pub(crate) const MAX_CACHED_BYTES: usize = 40;
/// Number of keys that each thread caches.
pub(crate) const CACHED_KEYS: usize = 8;

/// A key with its hash.
pub(crate) struct CachedKey {
    salt: Salt,
    length: usize,
    bytes: [u8; MAX_CACHED_BYTES],
    hash: Hash,
}

/// Returns the place of a key in a cache. Keys of one kind tend to differ in their last byte, and those of
/// different kinds in their length.
#[inline(always)]
pub(crate) fn place_of(key: &[u8]) -> usize {
    usize::from(key.last().copied().unwrap_or(0)).wrapping_add(key.len()) % CACHED_KEYS
}

impl CachedKey {
    pub(crate) const NONE: CachedKey =
        CachedKey { salt: Salt(0, 0), length: 0, bytes: [0; MAX_CACHED_BYTES], hash: Hash::NONE };

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

/// Compares two short keys of the same length, word by word, or byte by byte: calling `memcmp`, which is made for
/// long ones, takes longer.
#[inline]
fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    let (Some(end), Some(other)) = (a.last_chunk::<8>(), b.last_chunk::<8>()) else {
        return a.iter().zip(b).all(|(one, other)| one == other);
    };
    let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
    let mut pairs = a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0);
    word(end) == word(other) && pairs.all(|(one, other)| word(one) == word(other))
}
