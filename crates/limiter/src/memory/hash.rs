//! Keys as numbers: where a key is kept, and what it is known by there.
//!
//! Keys are chosen by strangers, so the hash is keyed with a secret: nobody can choose keys that
//! meet. Nothing but the hash is kept of a key.

use std::cell::RefCell;
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
    pub(super) mark: u64,
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
    pub(super) fn mark_at(self, position: usize) -> u64 {
        let position = (position as u64).rotate_right(8);
        // Zero marks a free place.
        (self.mark ^ position).max(1)
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
        let keys = self.keys(policy, subject);
        RECENT.with_borrow_mut(|recent| recent.hash(keys, subject.key.as_bytes()))
    }

    /// The same for one of many keys, which are not worth remembering.
    #[inline]
    pub(super) fn hash_of_many(self, policy: &Name, subject: Subject<'_>) -> Hash {
        sip(self.keys(policy, subject), subject.key.as_bytes())
    }

    #[inline]
    fn keys(self, policy: &Name, subject: Subject<'_>) -> (u64, u64) {
        let [a, b] = self.0;
        (a ^ policy.digest(), b ^ subject.kind.map_or(0, Name::digest))
    }
}

fn sip((a, b): (u64, u64), key: &[u8]) -> Hash {
    let hash = SipHasher13::new_with_keys(a, b).hash(key);
    Hash { shard: hash.h1, mark: hash.h2 }
}

/// How many bytes of a key are remembered; longer ones are hashed every time.
const SHORT: usize = 40;
/// How many keys each thread remembers.
const MEMOS: usize = 8;

thread_local! {
    static RECENT: RefCell<Recent> = const { RefCell::new(Recent([Memo::NONE; MEMOS])) };
}

/// The hashes of the last few keys that this thread asked for.
///
/// A limiter is hammered with few keys, and for one that is hot, hashing is a third of the work.
struct Recent([Memo; MEMOS]);

#[derive(Clone, Copy)]
struct Memo {
    keys: (u64, u64),
    hash: Hash,
    length: usize,
    bytes: [u8; SHORT],
}

impl Memo {
    const NONE: Memo =
        Memo { keys: (0, 0), hash: Hash { shard: 0, mark: 0 }, length: 0, bytes: [0; SHORT] };
}

impl Recent {
    #[inline]
    fn hash(&mut self, keys: (u64, u64), key: &[u8]) -> Hash {
        // Keys that differ tend to differ in their last byte.
        let last = usize::from(key.last().copied().unwrap_or(0));
        let Some(memo) = self.0.get_mut(last % MEMOS) else { return sip(keys, key) };
        if memo.length == key.len()
            && memo.keys == keys
            && memo.bytes.get(..key.len()).is_some_and(|bytes| same(bytes, key))
        {
            return memo.hash;
        }
        memo.learn(keys, key)
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

impl Memo {
    #[inline(never)]
    fn learn(&mut self, keys: (u64, u64), key: &[u8]) -> Hash {
        let hash = sip(keys, key);
        if let Some(bytes) = self.bytes.get_mut(..key.len()) {
            bytes.copy_from_slice(key);
            (self.keys, self.length, self.hash) = (keys, key.len(), hash);
        }
        hash
    }
}
