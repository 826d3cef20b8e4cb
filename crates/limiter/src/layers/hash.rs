//! Hashes by which layers find what they know of a key.
//!
//! Clients choose the keys, so the hashes are keyed with a secret, and they are long enough that no two
//! questions ever share one: what is found under a hash is not compared with the question itself.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use siphasher::sip128::{Hasher128 as _, SipHasher13};
use smallvec::SmallVec;
use tollgate_core::{Item, Name, Op};

/// A hash of 128 bits.
pub(super) type Hash = u128;

/// The secret that the layers of one store key their hashes with.
#[derive(Clone, Copy)]
pub(super) struct Secret(u64, u64);

/// The policy and the subjects of an operation: what it counts.
#[derive(Clone)]
pub(super) struct OpKey {
    /// The hash of each limit's subject under the policy.
    pub(super) subjects: SmallVec<[Hash; 1]>,
}

impl Secret {
    /// Creates a secret that cannot be guessed.
    pub(super) fn random() -> Secret {
        let random = RandomState::new();
        Secret(random.hash_one(0), random.hash_one(1))
    }

    /// Returns the key of an operation.
    pub(super) fn key(self, op: &Op<'_>) -> OpKey {
        OpKey { subjects: op.items.iter().map(|item| self.subject(op.policy, item)).collect() }
    }

    /// Returns the hash of the first subject of an operation, for those that have only one.
    pub(super) fn first_subject(self, op: &Op<'_>) -> Hash {
        op.items.first().map_or(0, |item| self.subject(op.policy, item))
    }

    fn subject(self, policy: &Name, item: &Item<'_>) -> Hash {
        let mut hasher = self.hasher();
        let name = item.subject.name.map_or("", Name::as_str);
        for field in [policy.as_str(), name] {
            hasher.write(field.as_bytes());
            hasher.write_u8(0);
        }
        hasher.write(item.subject.key.as_bytes());
        hasher.finish128().as_u128()
    }

    /// Returns the hash of all that decides a check without an id: two checks with the same hash get the
    /// same answer.
    pub(super) fn question(self, key: &OpKey, op: &Op<'_>) -> Hash {
        let mut hasher = self.hasher();
        for (subject, item) in key.subjects.iter().zip(op.items) {
            hasher.write_u128(*subject);
            hasher.write_u64(item.cost);
            item.limit.hash_numbers(&mut hasher);
        }
        hasher.finish128().as_u128()
    }

    /// Returns one hash of a key.
    pub(super) fn whole(self, key: &OpKey) -> Hash {
        if let [subject] = key.subjects[..] {
            return subject;
        }
        let mut hasher = self.hasher();
        for subject in &key.subjects {
            hasher.write_u128(*subject);
        }
        hasher.finish128().as_u128()
    }

    /// Returns a number that tells this process from others.
    pub(super) fn tag(self) -> u64 {
        let mut hasher = self.hasher();
        hasher.write(b"tag");
        hasher.finish()
    }

    fn hasher(self) -> SipHasher13 {
        SipHasher13::new_with_keys(self.0, self.1)
    }
}

/// Returns some bits of a hash as an index below `len`, which must be a power of two.
pub(super) fn index_in(len: usize, hash: Hash) -> usize {
    hash as usize & len.wrapping_sub(1)
}
