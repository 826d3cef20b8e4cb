//! Hashes of keys: they select the shard of a key and identify the key there.
//!
//! Clients choose the keys, so the hash is keyed with a secret: an attacker cannot choose keys that
//! collide. Only the hash of a key is kept.

mod cached_key;

use std::hash::{BuildHasher as _, RandomState};

use siphasher::sip128::SipHasher13;
use tollgate_core::storage::Handle;
use tollgate_core::{Id, Name, Subject};

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

    #[inline]
    pub(crate) fn salt(self, policy: &Name, subject: Subject<'_>) -> Salt {
        let [a, b] = self.0;
        Salt(a ^ policy.digest(), b ^ subject.name.map_or(0, Name::digest))
    }
}

/// What the ids of an operation belong to: a hash of its policy and all its subjects, in order.
#[derive(Clone, Copy)]
pub(crate) struct Scope(Hash);

impl Scope {
    /// The scope of no operation.
    pub(crate) const NONE: Scope = Scope(Hash::NONE);

    /// Returns the scope of one subject with this hash.
    #[inline]
    pub(crate) fn of_one(hash: Hash) -> Scope {
        Scope(hash)
    }

    /// Returns the scope of subjects with these hashes. Another limit for the same subject does not change it.
    #[inline]
    pub(crate) fn of(hashes: &(impl Iterator<Item = Hash> + Clone)) -> Scope {
        let mut scope = Scope::NONE;
        for (index, hash) in hashes.clone().enumerate() {
            if index == 0 {
                scope = Scope(hash);
            } else if hashes.clone().take(index).all(|earlier| earlier != hash) {
                scope = scope.with(hash);
            }
        }
        scope
    }

    /// Returns the scope with another subject.
    fn with(self, other: Hash) -> Scope {
        let [first, second] = [other.shard, other.fingerprint].map(u64::to_le_bytes);
        Scope(self.salt().hash([first, second].as_flattened()))
    }

    /// Returns what the leases and reservations of an id are found by.
    #[inline]
    pub(crate) fn handle(self, id: Id<'_>) -> Handle {
        Handle::from_words(Scope(self.salt().hash(id.as_bytes())).to_words())
    }

    #[inline]
    pub(crate) fn to_words(self) -> [u64; 2] {
        [self.0.shard, self.0.fingerprint]
    }

    /// Hashes under a secret that cannot be known without that of the store.
    #[inline]
    fn salt(self) -> Salt {
        Salt(self.0.shard, self.0.fingerprint)
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

#[cfg(test)]
mod tests {
    use tollgate_core::Id;

    use super::{Hash, Scope};

    #[test]
    fn a_handle_is_of_an_id_and_of_distinct_subjects_in_order() {
        let [a, b] = [1, 2].map(|n| Hash { shard: n, fingerprint: n });
        let handle = |hashes: &[Hash], id: &[u8]| {
            Scope::of(&hashes.iter().copied()).handle(Id::new(id).unwrap())
        };
        assert_eq!(handle(&[a, a], b"id"), handle(&[a], b"id"));
        assert_eq!(handle(&[a, b, a, b], b"id"), handle(&[a, b], b"id"));
        let different = [
            handle(&[a], b"id"),
            handle(&[a], b"other"),
            handle(&[b], b"id"),
            handle(&[a, b], b"id"),
            handle(&[b, a], b"id"),
        ];
        for (index, one) in different.iter().enumerate() {
            assert!(different.iter().skip(index + 1).all(|other| other != one), "{index}");
        }
    }
}
