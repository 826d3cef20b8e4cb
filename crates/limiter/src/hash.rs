//! Hashes of keys: they select the shard of a key and identify the key there.
//!
//! Clients choose the keys, so the hash is keyed with a secret: an attacker cannot choose keys that
//! collide. Only the hash of a key is kept.

mod cached_key;

use std::hash::{BuildHasher, Hasher, RandomState};

use siphasher::sip128::{Hash128, Hasher128 as _, SipHasher13};
use tollgate_core::storage::{Handle, OpStorage as _};
use tollgate_core::{Name, Op, Subject};

pub(crate) use cached_key::{CACHED_KEYS, CachedKey, MAX_CACHED_BYTES, place_of};

/// The secret that a store keys its hashes with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Secret(pub(crate) [u64; 2]);

/// The hash of one subject under one policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hash {
    /// Selects the shard.
    pub(crate) shard: u64,
    /// Selects the slot in the shard, and distinguishes the subject from others there.
    pub(crate) fingerprint: u64,
}

/// Maps a random number to an index below `len`, which must be a power of two.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "only the low bits are used")]
pub(crate) fn index_in(len: usize, random: u64) -> usize {
    random as usize & len.wrapping_sub(1)
}

impl Hash {
    /// The hash of no subject.
    pub(crate) const NONE: Hash = Hash { shard: 0, fingerprint: 0 };

    /// Returns the fingerprint of the state of the limit at this position in its policy. All states
    /// of one subject have the same home in a table, so they lie next to each other.
    #[inline]
    pub(crate) fn fingerprint_at(self, position: usize) -> u64 {
        let position = (position as u64).rotate_right(8);
        // Zero marks a free slot.
        (self.fingerprint ^ position).max(1)
    }
}

impl Secret {
    /// Creates a secret that cannot be guessed.
    pub(crate) fn random() -> Secret {
        let random = RandomState::new();
        Secret([random.hash_one(0), random.hash_one(1)])
    }

    #[inline]
    pub(crate) fn hash(self, policy: &Name, subject: Subject<'_>) -> Hash {
        self.salt(policy, subject).hash(subject.key.as_bytes())
    }

    /// Returns what the leases and reservations of an operation's id are found by.
    pub(crate) fn handle(self, op: &Op<'_>) -> Option<Handle> {
        op.id?;
        Some(Handle::from_words(self.hash_with(|hasher| op.hash_handle(hasher))))
    }

    /// Returns the hash of what an operation's id belongs to.
    pub(crate) fn scope(self, op: &Op<'_>) -> [u64; 2] {
        self.hash_with(|hasher| op.hash_scope(hasher))
    }

    fn hash_with(self, write: impl FnOnce(&mut Parts)) -> [u64; 2] {
        let [a, b] = self.0;
        let mut parts = Parts::new(SipHasher13::new_with_keys(a, b));
        write(&mut parts);
        let hash = parts.finish128();
        [hash.h1, hash.h2]
    }

    #[inline]
    pub(crate) fn salt(self, policy: &Name, subject: Subject<'_>) -> Salt {
        let [a, b] = self.0;
        Salt(a ^ policy.digest(), b ^ subject.name.map_or(0, Name::digest))
    }
}

/// Maximum number of bytes that are hashed at once: enough for an id and a key of ordinary length.
const MAX_AT_ONCE: usize = 160;

/// Collects short parts, which take twice as long if they are hashed one by one.
struct Parts {
    bytes: [u8; MAX_AT_ONCE],
    len: usize,
    /// What has hashed the parts so far, if they are longer.
    hasher: SipHasher13,
    is_long: bool,
}

impl Parts {
    #[inline]
    fn new(hasher: SipHasher13) -> Parts {
        Parts { bytes: [0; MAX_AT_ONCE], len: 0, hasher, is_long: false }
    }

    #[inline]
    fn collected(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    #[cold]
    fn flush(&mut self, next: &[u8]) {
        let Parts { bytes, len, hasher, .. } = self;
        hasher.write(bytes.get(..*len).unwrap_or_default());
        hasher.write(next);
        (self.len, self.is_long) = (0, true);
    }

    fn finish128(mut self) -> Hash128 {
        if !self.is_long {
            return self.hasher.hash(self.collected());
        }
        self.flush(&[]);
        self.hasher.finish128()
    }
}

impl Hasher for Parts {
    #[inline(always)]
    fn write(&mut self, part: &[u8]) {
        let end = self.len.wrapping_add(part.len());
        match self.bytes.get_mut(self.len..end) {
            Some(free) => {
                free.copy_from_slice(part);
                self.len = end;
            }
            None => self.flush(part),
        }
    }

    /// Not used: the hash has 128 bits.
    fn finish(&self) -> u64 {
        self.hasher.finish()
    }
}

/// The hash key for one kind of subject under one policy of one store.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Salt(pub(crate) u64, pub(crate) u64);

impl Salt {
    #[inline]
    pub(crate) fn hash(self, key: &[u8]) -> Hash {
        let hash = SipHasher13::new_with_keys(self.0, self.1).hash(key);
        Hash { shard: hash.h1, fingerprint: hash.h2 }
    }
}
