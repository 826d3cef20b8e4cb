//! Keys as numbers: where a key is kept, and what it is known by there.
//!
//! Keys are chosen by strangers, so the hash is keyed with a secret: nobody can choose keys that
//! meet. Nothing but the hash is kept of a key.

use std::hash::{BuildHasher, RandomState};

use siphasher::sip128::SipHasher13;
use tollgate_core::{Name, Subject};

/// What the hash of this store is keyed with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Secret(pub(super) [u64; 2]);

/// The hash of one subject under one policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hash {
    /// Which shard.
    pub(super) shard: u64,
    /// Where in it, and what it is told from others by.
    pub(super) fingerprint: u64,
}

/// Which of so many places, a power of two, a number that is as good as random stands for.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the low bits are all that is wanted")]
pub(super) fn place_in(places: usize, random: u64) -> usize {
    random as usize & places.wrapping_sub(1)
}

impl Hash {
    /// What the state of the limit at this position goes by. All of one subject lie side by side.
    #[inline]
    pub(super) fn fingerprint_at(self, position: usize) -> u64 {
        let position = (position as u64).rotate_right(8);
        // Zero fingerprints a free place.
        (self.fingerprint ^ position).max(1)
    }
}

impl Secret {
    /// A new one, which nobody can guess.
    pub(super) fn random() -> Secret {
        let random = RandomState::new();
        Secret([random.hash_one(0), random.hash_one(1)])
    }

    #[inline]
    pub(super) fn hash(self, policy: &Name, subject: Subject<'_>) -> Hash {
        self.salt(policy, subject).hash(subject.key.as_bytes())
    }

    #[inline]
    pub(super) fn salt(self, policy: &Name, subject: Subject<'_>) -> Salt {
        let [a, b] = self.0;
        Salt(a ^ policy.digest(), b ^ subject.name.map_or(0, Name::digest))
    }
}

/// What the keys of one kind of subject are hashed with under one policy of one store.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Salt(pub(super) u64, pub(super) u64);

impl Salt {
    #[inline]
    pub(super) fn hash(self, key: &[u8]) -> Hash {
        let hash = SipHasher13::new_with_keys(self.0, self.1).hash(key);
        Hash { shard: hash.h1, fingerprint: hash.h2 }
    }
}
