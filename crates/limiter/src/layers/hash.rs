//! Hashes by which layers find what they know of a key.
//!
//! Clients choose the keys, so the hashes are keyed with a secret, and they are long enough that no two
//! questions ever share one: what is found under a hash is not compared with the question itself.

use std::cell::RefCell;
use std::hash::Hasher;

use smallvec::SmallVec;
use tollgate_core::storage::LimitStorage as _;
use tollgate_core::{Item, Name, Op};

use crate::hash::{self, CACHED_KEYS, CachedKey, MAX_CACHED_BYTES, Salt, place_of};

pub(super) use crate::hash::Secret;

/// A hash of 128 bits.
pub(super) type Hash = u128;

thread_local! {
    /// The last few keys that this thread has hashed.
    static CACHE: RefCell<[CachedKey; CACHED_KEYS]> = const { RefCell::new([CachedKey::NONE; CACHED_KEYS]) };
}

/// The policy and the subjects of an operation: what it counts.
#[derive(Clone)]
pub(super) struct OpKey {
    /// The hash of each limit's subject under the policy.
    pub(super) subjects: SmallVec<[Hash; 1]>,
}

impl Secret {
    /// Returns the key of an operation.
    #[inline]
    pub(super) fn key(self, op: &Op<'_>) -> OpKey {
        let subject = |item: &Item<'_>| self.subject(op.policy, item);
        let subjects = match op.items {
            // Most policies have one limit, and collecting one is not for nothing.
            [item] => SmallVec::from_buf([subject(item)]),
            items => items.iter().map(subject).collect(),
        };
        OpKey { subjects }
    }

    /// Returns the hash of the first subject of an operation, for those that have only one.
    #[inline]
    pub(super) fn first_subject(self, op: &Op<'_>) -> Hash {
        op.items.first().map_or(0, |item| self.subject(op.policy, item))
    }

    #[inline]
    fn subject(self, policy: &Name, item: &Item<'_>) -> Hash {
        let salt = self.salt(policy, item.subject);
        let hash = hash_of(salt, item.subject.key.as_bytes());
        u128::from(hash.fingerprint) << u64::BITS | u128::from(hash.shard)
    }

    /// Returns the hash of all that decides a check without an id: two checks with the same hash get the
    /// same answer.
    #[inline]
    pub(super) fn question(self, key: &OpKey, op: &Op<'_>) -> Hash {
        let mut mixer = Mixer::default();
        for (subject, item) in key.subjects.iter().zip(op.items) {
            mixer.write_u128(*subject);
            mixer.write_u64(item.cost);
            item.limit.hash_numbers(&mut mixer);
        }
        mixer.0
    }

    /// Returns a number that tells this process from others.
    pub(super) fn tag(self) -> u64 {
        let [a, b] = self.0;
        Salt(a, b).hash(b"tag").shard
    }
}

/// Returns the hash of a key, from the cache if the key is short enough.
#[inline]
fn hash_of(salt: Salt, key: &[u8]) -> hash::Hash {
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

impl OpKey {
    /// Returns one hash of the key.
    pub(super) fn whole(&self) -> Hash {
        if let [subject] = self.subjects[..] {
            return subject;
        }
        let mut mixer = Mixer::default();
        self.subjects.iter().for_each(|subject| mixer.write_u128(*subject));
        mixer.0
    }
}

/// Adds numbers to hashes of subjects. Those cannot be guessed, so that each number needs only to lead to
/// another hash: every step is a bijection.
#[derive(Default)]
struct Mixer(u128);

impl Mixer {
    /// An odd number without a pattern: the fraction of the golden ratio.
    const FACTOR: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
}

impl Hasher for Mixer {
    fn write_u128(&mut self, number: u128) {
        self.0 = (self.0 ^ number).wrapping_mul(Mixer::FACTOR).rotate_left(64);
    }

    fn write_u64(&mut self, number: u64) {
        self.write_u128(number.into());
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn finish(&self) -> u64 {
        low(self.0)
    }
}

/// Returns some bits of a hash as an index below `len`, which must be a power of two.
pub(super) fn index_in(len: usize, hash: Hash) -> usize {
    hash::index_in(len, low(hash))
}

#[expect(clippy::cast_possible_truncation, reason = "the low half")]
fn low(hash: Hash) -> u64 {
    hash as u64
}
