//! The fast path: a check of one limit of a known key.
//!
//! The check is made in the record of the key, under the lock of its shard. If this thread has seen
//! the key denied, and the shard has not changed since, it needs no lock: threads that hammer on an
//! exhausted key only read, and do not slow each other down.

use tollgate_core::storage::LimitStorage as _;
use tollgate_core::{Decision, Name, Subject, Time};

use super::single_check::{Record, SingleCheck};
use super::thread_cache::{Cached, Seen, cache_record, cached_hash, cached_record};
use crate::lock::{Guard, Lock};
use crate::memory::store::MemoryStore;
use crate::memory::table::record::{OneWordRecord, ThreeWordRecord};
use crate::memory::table::shard::Shard;

impl MemoryStore {
    /// Checks a key whose state is one word, which is the shortest path. Returns `None` if the state
    /// is in another form or absent, or the check needs the general path. Separate from
    /// [`check_three_words`](MemoryStore::check_three_words), so that the code of all the rules there
    /// is not inlined here.
    #[inline(always)]
    pub(crate) fn check_one_word(
        &self,
        policy: &Name,
        subject: Subject<'_>,
        check: &SingleCheck<'_>,
        now: Time,
    ) -> Option<Decision> {
        if !check.limit.may_fit_one_word() {
            return None;
        }
        self.check_record::<OneWordRecord>(policy, subject, check, now)
    }

    /// Checks a key whose state is three words. Returns `None` if the state is in another form or
    /// absent, or the check needs the [general path](MemoryStore::apply_general).
    #[inline(always)]
    pub(crate) fn check_three_words(
        &self,
        policy: &Name,
        subject: Subject<'_>,
        check: &SingleCheck<'_>,
        now: Time,
    ) -> Option<Decision> {
        if !check.limit.is_packed() {
            return None;
        }
        self.check_record::<ThreeWordRecord>(policy, subject, check, now)
    }

    /// Checks a record: first the cached one, if its shard has not changed; that one can only deny.
    /// Otherwise the one in the table.
    #[inline(always)]
    fn check_record<R: Record + Cached>(
        &self,
        policy: &Name,
        subject: Subject<'_>,
        check: &SingleCheck<'_>,
        now: Time,
    ) -> Option<Decision> {
        let key = subject.key.as_bytes();
        let salt = self.secret.salt(policy, subject);
        let (hash, version) = cached_hash::<R>(self.number, salt, key);
        let (lock, fingerprint) = (self.shard(self.shard_index(hash))?, hash.fingerprint_at(0));
        let (mut guard, mut record) = if version == lock.version() {
            (None, cached_record::<R>(key))
        } else {
            lock_and_read::<R>(lock, fingerprint)?
        };
        // At most twice: the cached record only ever denies, and what it would allow is checked again
        // under the lock. So is what it denies if its terms may have changed meanwhile: those that the limiter keeps
        // do not.
        loop {
            let decision = record.check(check, &self.layout, now)?;
            match &mut guard {
                None if decision.allowed
                    || (check.terms_index.is_none() && lock.version_after_reads() != version) =>
                {
                    (guard, record) = lock_and_read::<R>(lock, fingerprint)?;
                    continue;
                }
                None => {}
                Some(shard) if decision.allowed => *R::find_mut(shard, fingerprint)? = record,
                Some(_) => {
                    // While the shard is locked: it belongs to what was read.
                    let version = lock.version();
                    drop(guard);
                    cache_record(key, Seen { record, version });
                }
            }
            return Some(decision);
        }
    }
}

/// Locks the shard of a record and reads the record. Returns `None` if the record is absent.
#[inline(always)]
fn lock_and_read<R: Record>(
    lock: &Lock<Shard>,
    fingerprint: u64,
) -> Option<(Option<Guard<'_, Shard>>, R)> {
    let shard = lock.lock();
    let record = *R::find(&shard, fingerprint)?;
    Some((Some(shard), record))
}
