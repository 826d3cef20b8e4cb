//! A check of one limit of one key, which is nearly all that is ever asked: the short way.
//!
//! A key that is known is checked in its record, under the lock of its shard. One that this thread
//! has seen denied, and whose shard has not changed since, needs not even the lock: whoever hammers
//! on a limit from many threads only reads, and is in nobody's way.

use std::num::NonZeroU32;

use tollgate_core::{Act, Decision, Limit, Name, Op, Subject, Time};

use super::MemoryStore;
use super::lock::{Guard, Lock};
use super::record::{Layout, Row, Word, parts_of_row, parts_of_word, with_row, with_word};
use super::shard::Shard;
use super::thread_cache::{CachedDenial, Seen, recall, remember, seen};

/// What is asked of one limit.
pub(crate) struct Asked<'a> {
    pub(crate) limit: &'a Limit,
    /// The number of its terms, if that is known already.
    pub(crate) number: Option<NonZeroU32>,
    pub(crate) cost: u64,
}

/// What is asked by an operation that is a check of one limit and nothing more, and of whom.
#[inline]
pub(super) fn plain_check<'o>(op: &'o Op<'_>) -> Option<(Asked<'o>, Subject<'o>)> {
    match op.items {
        [item] if op.act == Act::Check && op.id.is_none() => {
            Some((Asked { limit: item.limit, number: None, cost: op.cost }, item.subject))
        }
        _ => None,
    }
}

impl Asked<'_> {
    /// Whether the terms of this number are those of the limit.
    #[inline(always)]
    fn is_under(&self, number: u32, layout: &Layout) -> bool {
        match self.number {
            Some(own) => own.get() == number,
            None => layout.terms.get(number).is_some_and(|terms| terms.matches(self.limit)),
        }
    }
}

/// A record that can be checked where it lies.
///
/// All of this is always inlined: each time a decision is copied, the processor waits for its last
/// byte to reach the cache.
pub(super) trait Record: Copy {
    /// The record with this fingerprint.
    fn find(shard: &mut Shard, fingerprint: u64) -> Option<&mut Self>;
    /// What is remembered of it.
    fn seen(cached: &mut CachedDenial) -> &mut Seen<Self>;
    /// Checks a state under the limit's own terms; `None` if it takes more.
    fn check(&mut self, asked: &Asked<'_>, layout: &Layout, now: Time) -> Option<Decision>;
}

impl Record for Word {
    #[inline(always)]
    fn find(shard: &mut Shard, fingerprint: u64) -> Option<&mut Word> {
        shard.word(fingerprint)
    }

    #[inline(always)]
    fn seen(cached: &mut CachedDenial) -> &mut Seen<Word> {
        &mut cached.word
    }

    #[inline(always)]
    fn check(&mut self, asked: &Asked<'_>, layout: &Layout, now: Time) -> Option<Decision> {
        let (number, word) = parts_of_word(*self);
        if !asked.is_under(number, layout) {
            return None;
        }
        let (decision, word) = asked.limit.check_word(word, layout.origin, asked.cost, now)?;
        *self = with_word(*self, word);
        Some(decision)
    }
}

impl Record for Row {
    #[inline(always)]
    fn find(shard: &mut Shard, fingerprint: u64) -> Option<&mut Row> {
        shard.row(fingerprint)
    }

    #[inline(always)]
    fn seen(cached: &mut CachedDenial) -> &mut Seen<Row> {
        &mut cached.row
    }

    #[inline(always)]
    fn check(&mut self, asked: &Asked<'_>, layout: &Layout, now: Time) -> Option<Decision> {
        let (number, words) = parts_of_row(*self);
        if !asked.is_under(number, layout) {
            return None;
        }
        let checked = asked.limit.check_words(Some(words), asked.cost, now)?;
        if let Some(words) = checked.words {
            *self = with_row(*self, words);
        }
        Some(checked.decision)
    }
}

impl MemoryStore {
    /// A check of a key whose state is one word, which is the shortest way there is; `None` if it
    /// takes more. Kept apart from [`check_row`](MemoryStore::check_row), so that it is not crowded
    /// by all the rules there.
    #[inline(always)]
    pub(crate) fn check_word(
        &self,
        policy: &Name,
        subject: Subject<'_>,
        asked: &Asked<'_>,
        now: Time,
    ) -> Option<Decision> {
        if !asked.limit.may_fit_one_word() {
            return None;
        }
        self.check_kept::<Word>(policy, subject, asked, now)
    }

    /// A check of a key whose state is three words; `None` if it takes
    /// [more](MemoryStore::answer_one).
    #[inline(always)]
    pub(crate) fn check_row(
        &self,
        policy: &Name,
        subject: Subject<'_>,
        asked: &Asked<'_>,
        now: Time,
    ) -> Option<Decision> {
        self.check_kept::<Row>(policy, subject, asked, now)
    }

    /// Checks a record: as it was seen, if that says no and nothing has changed since; else as it
    /// is.
    #[inline(always)]
    fn check_kept<R: Record>(
        &self,
        policy: &Name,
        subject: Subject<'_>,
        asked: &Asked<'_>,
        now: Time,
    ) -> Option<Decision> {
        let key = subject.key.as_bytes();
        let salt = self.secret.salt(policy, subject);
        let (hash, seen_at) = recall::<R>(self.number, salt, key);
        let (lock, fingerprint) = (self.shard(self.place(hash))?, hash.fingerprint_at(0));
        let (mut held, mut record) = if seen_at == lock.changes() {
            (None, seen::<R>(key))
        } else {
            hold::<R>(lock, fingerprint)?
        };
        // At most twice: what was seen only ever says no, and what may pass is asked under the lock.
        loop {
            let Some(decision) = record.check(asked, &self.layout, now) else {
                held.map(|shard| lock.unlock_unchanged(shard));
                return None;
            };
            match &mut held {
                None if decision.allowed => {
                    (held, record) = hold::<R>(lock, fingerprint)?;
                    continue;
                }
                None => {}
                Some(shard) if decision.allowed => *R::find(shard, fingerprint)? = record,
                Some(_) => {
                    let changes = lock.unlock_unchanged(held?);
                    remember(key, Seen { record, changes });
                }
            }
            return Some(decision);
        }
    }
}

/// Locks the shard of a record, and reads it. If it is not there, the lock is let go.
#[inline(always)]
fn hold<R: Record>(lock: &Lock<Shard>, fingerprint: u64) -> Option<(Option<Guard<'_, Shard>>, R)> {
    let mut shard = lock.lock();
    match R::find(&mut shard, fingerprint).copied() {
        Some(record) => Some((Some(shard), record)),
        None => {
            lock.unlock_unchanged(shard);
            None
        }
    }
}
