//! A cache in each thread of the last few keys it checked: their hash, and the record that denied
//! them.
//!
//! A limiter is hammered with few keys, and those are denied. For such a key hashing is a third of
//! the work, and locking its shard another: neither is needed again while nothing changes.

use std::cell::RefCell;

use crate::hash::{CACHED_KEYS, CachedKey, Hash, MAX_CACHED_BYTES, Salt, place_of};
use crate::memory::store::StoreNumber;
use crate::memory::table::record::{OneWordRecord, ThreeWordRecord};

thread_local! {
    static CACHE: RefCell<[CachedDenial; CACHED_KEYS]> = const { RefCell::new([CachedDenial::NONE; CACHED_KEYS]) };
}

/// A cached key.
pub(super) struct CachedDenial {
    store: StoreNumber,
    key: CachedKey,
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
    with_entry(key, |cached| cached.hash_of::<R>(store, salt, key))
}

/// Sets the hash of each key, as [`cached_hash`] returns it: the cache of the thread is looked up once for all.
#[inline(always)]
pub(super) fn cached_hashes<'k>(
    store: StoreNumber,
    keys: impl Iterator<Item = (Salt, &'k [u8], &'k mut Hash)>,
) {
    CACHE.with_borrow_mut(|cache| {
        for (salt, key, hash) in keys {
            #[expect(clippy::indexing_slicing, reason = "every place is below the number of keys")]
            let cached = &mut cache[place_of(key)];
            *hash = cached.hash_of::<OneWordRecord>(store, salt, key).0;
        }
    });
}

/// Returns the cached record of a key for which [`cached_hash`] was just called.
#[inline(always)]
pub(super) fn cached_record<R: Cached>(key: &[u8]) -> R {
    with_entry(key, |cached| R::seen(cached).record)
}

/// Caches the record of a key for which [`cached_hash`] was just called.
#[inline]
pub(super) fn cache_record<R: Cached>(key: &[u8], seen: Seen<R>) {
    if key.len() <= MAX_CACHED_BYTES {
        with_entry(key, |cached| *R::seen(cached) = seen);
    }
}

#[inline(always)]
fn with_entry<T>(key: &[u8], act: impl FnOnce(&mut CachedDenial) -> T) -> T {
    #[expect(clippy::indexing_slicing, reason = "every place is below the number of keys")]
    CACHE.with_borrow_mut(|cache| act(&mut cache[place_of(key)]))
}

impl CachedDenial {
    const NONE: CachedDenial = CachedDenial {
        store: StoreNumber::NONE,
        key: CachedKey::NONE,
        one_word: Seen { record: [0; 2], version: 0 },
        three_words: Seen { record: [0; 4], version: 0 },
    };

    /// Returns the hash of a key, which is cached here if it is short enough, and the version of its record.
    #[inline(always)]
    fn hash_of<R: Cached>(&mut self, store: StoreNumber, salt: Salt, key: &[u8]) -> (Hash, u64) {
        if !self.is_for(store, salt, key) {
            if key.len() > MAX_CACHED_BYTES {
                return (salt.hash(key), 0);
            }
            self.replace(store, salt, key);
        }
        (self.key.hash(), R::seen(self).version)
    }

    #[inline(always)]
    fn is_for(&self, store: StoreNumber, salt: Salt, key: &[u8]) -> bool {
        self.store == store && self.key.is_for(salt, key)
    }

    #[inline(never)]
    fn replace(&mut self, store: StoreNumber, salt: Salt, key: &[u8]) {
        self.store = store;
        self.key.replace(salt, key);
        (self.one_word.version, self.three_words.version) = (0, 0);
    }
}
