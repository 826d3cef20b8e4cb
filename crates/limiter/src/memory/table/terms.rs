//! The terms that states are written under, and the quota that they count in: both are kept once, and states refer
//! to them by index.
//!
//! There are 4,095 indices. When they are used up, those that no record has any more are freed: a [round](Round)
//! through all shards, one at each operation that takes a general path, [marks](Marks) those that are in use.

mod indices;
mod marks;
mod place;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tollgate_core::storage::{LimitStorage as _, Terms};
use tollgate_core::{Limit, Span, Time};

use self::indices::{Indices, place_key};
use self::marks::Marks;
use self::place::Places;
use super::quota::{Quota, QuotaRef};
use crate::hash::index_in;

/// Number of recently used indices that are cached. A power of two.
const RECENT_LEN: usize = 16;

/// Time after a round that found all indices in use, in which no other one begins.
const PAUSE: Span = Span::from_micros(1_000_000);

/// A cheap hash of terms.
fn mix(words: [u64; 4]) -> u64 {
    let mix = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    words.into_iter().fold(0, mix) >> 32
}

/// A list of terms. Reading takes no lock.
pub(crate) struct TermsList {
    places: Places,
    indices: RwLock<Indices>,
    /// Recently used indices: most keys of a store are under a few terms.
    recent: [AtomicU32; RECENT_LEN],
    /// The indices that were found since the round began.
    marks: Marks,
    /// Whether an index was needed and none was free.
    is_full: AtomicBool,
    round: Mutex<Round>,
}

/// A round through all shards.
pub(crate) struct Round {
    /// The shard that is looked at next.
    pub(crate) shard: usize,
    /// No round begins before.
    paused_until: Time,
}

impl TermsList {
    pub(crate) fn new() -> TermsList {
        TermsList {
            places: Places::new(),
            indices: RwLock::new(Indices::new()),
            recent: [const { AtomicU32::new(0) }; RECENT_LEN],
            marks: Marks::new(),
            is_full: AtomicBool::new(false),
            round: Mutex::new(Round { shard: 0, paused_until: Time::EPOCH }),
        }
    }

    /// Returns the terms at the index of a record, whose shard is locked.
    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<Terms> {
        self.places.get(index)?.terms()
    }

    /// Returns whether a record with this index is under the terms of this limit. Its shard is locked, or has the same
    /// version afterwards.
    #[inline(always)]
    pub(crate) fn are_of(&self, index: u32, limit: &Limit) -> bool {
        let (Some(place), Some(terms)) = (self.places.get(index), limit.terms()) else {
            return false;
        };
        place.has(terms.to_words())
    }

    /// Returns the quota that states under the index of a record count in. The shard of the record is locked.
    pub(crate) fn quota(&self, index: u32) -> QuotaRef {
        self.places.get(index)?.quota()
    }

    /// Returns the index of these terms and this quota, which is at least 1, and adds them if they are new.
    /// Returns `None` if the list is full. The shard of the record that gets the index is locked until the record is
    /// written.
    pub(crate) fn index_of(&self, terms: &Terms, quota: Option<&Arc<Quota>>) -> Option<u32> {
        let recent = self.recent(terms)?;
        let index = recent.load(Ordering::Relaxed);
        let place = self.places.get(index);
        let is_right = place.is_some_and(|place| !place.is_closed() && place.is(terms, quota));
        let index = if is_right { index } else { self.find_or_add(terms, quota)? };
        recent.store(index, Ordering::Relaxed);
        self.marks.add(index);
        Some(index)
    }

    /// As [`index_of`](TermsList::index_of) for a limit that a program or its configuration names. It keeps the index
    /// until it is [unpinned](TermsList::unpin) as often.
    ///
    /// If an operation came first and got an index that does not fit above one word, the terms get a second one
    /// that does, as far as there is one: what came with operations, or is in a snapshot, must not decide how
    /// named limits are kept. States under the first are read as ever, and written under the second.
    pub(crate) fn pin(&self, terms: &Terms, quota: Option<&Arc<Quota>>) -> Option<u32> {
        let mut indices = self.write();
        let index = indices.find_or_add(&self.places, terms, quota, true);
        match index {
            Some(index) => {
                indices.pin(index);
                self.recent(terms)?.store(index, Ordering::Relaxed);
            }
            None => self.is_full.store(true, Ordering::Relaxed),
        }
        index
    }

    pub(crate) fn unpin(&self, index: u32) {
        self.write().unpin(index);
    }

    fn recent(&self, terms: &Terms) -> Option<&AtomicU32> {
        self.recent.get(index_in(RECENT_LEN, mix(terms.to_words())))
    }

    fn find_or_add(&self, terms: &Terms, quota: Option<&Arc<Quota>>) -> Option<u32> {
        let key = place_key(terms.to_words(), quota);
        let indices = self.read();
        let (found, is_full) = (indices.find(&key, false), indices.next(false).is_none());
        drop(indices);
        if found.is_some() {
            return found;
        }
        if is_full {
            // Without the lock for writing, which each operation with a limit of its own would take.
            self.is_full.store(true, Ordering::Relaxed);
            return None;
        }
        self.write().find_or_add(&self.places, terms, quota, false)
    }

    fn read(&self) -> RwLockReadGuard<'_, Indices> {
        self.indices.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Indices> {
        self.indices.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether an index was needed and none was free.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// Returns the round through all shards, unless another thread has it, or it is too early for one.
    pub(crate) fn round(&self, now: Time) -> Option<MutexGuard<'_, Round>> {
        let round = self.round.try_lock().ok()?;
        if now < round.paused_until {
            return None;
        }
        if round.shard == 0 {
            self.marks.clear();
        }
        Some(round)
    }

    /// Marks the index of a record.
    pub(crate) fn mark(&self, index: u32) {
        self.marks.add(index);
    }

    /// Goes on with the round, of so many shards.
    pub(crate) fn advance(&self, round: &mut Round, shards: usize, now: Time) {
        round.shard = round.shard.saturating_add(1);
        if round.shard < shards {
            return;
        }
        round.shard = 0;
        let mut indices = self.write();
        if indices.finish_round(&self.places, &self.marks) {
            self.is_full.store(indices.next(false).is_none(), Ordering::Relaxed);
        } else {
            round.paused_until = now.checked_add(PAUSE).unwrap_or(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use tollgate_core::Limit;
    use tollgate_core::storage::LimitStorage as _;

    use super::super::record::fits_one_word;
    use super::{PAUSE, Terms, TermsList, Time};

    fn terms(rate: u32) -> Terms {
        let limit: Limit = format!("gcra {rate}/day burst 1").parse().unwrap();
        limit.terms().unwrap()
    }

    /// An attacker who may send limits with his operations uses up all indices but those that are kept.
    #[test]
    fn named_limits_have_indices_of_their_own() {
        let list = TermsList::new();
        let given: Vec<u32> =
            (1..6_000).filter_map(|rate| list.index_of(&terms(rate), None)).collect();
        assert_eq!(given.len(), 127 + 2_816);
        assert_eq!(list.index_of(&terms(1), None), Some(1));
        let named = 10_000..10_000 + 128 + 1_024;
        for rate in named.clone() {
            let index = list.pin(&terms(rate), None).unwrap();
            assert_eq!(fits_one_word(index), rate < named.start + 128);
            assert!(!given.contains(&index), "{index}");
            assert_eq!(list.index_of(&terms(rate), None), Some(index));
            assert_eq!(list.get(index), Some(terms(rate)));
        }
        assert_eq!(list.pin(&terms(named.end), None), None);
    }

    /// Also if an operation, or a snapshot, came first.
    #[test]
    fn named_limits_get_an_index_that_fits_one_word() {
        let list = TermsList::new();
        let given: Vec<u32> =
            (1..=200).map(|rate| list.index_of(&terms(rate), None).unwrap()).collect();
        let before = list.index_of(&terms(150), None).unwrap();
        let index = list.pin(&terms(150), None).unwrap();
        assert!(!fits_one_word(before) && fits_one_word(index) && !given.contains(&index));
        assert_eq!(list.index_of(&terms(150), None), Some(index));
        assert_eq!(list.get(before), Some(terms(150)));
        assert_eq!(list.pin(&terms(150), None), Some(index));
        assert_eq!(list.pin(&terms(1), None), Some(1));
    }

    #[test]
    fn a_named_limit_takes_the_first_index() {
        let list = TermsList::new();
        assert_eq!(list.pin(&terms(1), None), Some(1));
        assert_eq!(list.index_of(&terms(2), None), Some(2));
        assert_eq!(list.pin(&terms(2), None), Some(2));
    }

    /// Goes through a store of one shard whose records have these indices.
    fn round(list: &TermsList, in_use: &[u32], now: Time) {
        let mut round = list.round(now).unwrap();
        in_use.iter().for_each(|index| list.mark(*index));
        list.advance(&mut round, 1, now);
    }

    #[test]
    fn an_index_that_is_not_used_is_freed_after_two_rounds() {
        let list = TermsList::new();
        let pinned = list.pin(&terms(10_000), None).unwrap();
        let all: Vec<u32> = (1..6_000).map_while(|n| list.index_of(&terms(n), None)).collect();
        assert!(list.index_of(&terms(9_000), None).is_none() && list.is_full());
        let (in_use, unused) = all.split_at(10);
        let unused = unused.first().copied().unwrap();
        let now = Time::EPOCH;
        round(&list, in_use, now);
        // Closed: what is there is read as ever, and new records get no such index.
        assert_eq!(list.get(unused), Some(terms(11)));
        assert!(list.index_of(&terms(9_000), None).is_none());
        round(&list, in_use, now);
        assert_eq!(list.get(unused), None);
        assert!(!list.is_full());
        for (n, index) in (1..).zip(in_use) {
            assert_eq!(list.index_of(&terms(n), None), Some(*index));
        }
        assert_eq!(list.index_of(&terms(10_000), None), Some(pinned));
        let again: Vec<u32> =
            (20_000..26_000).map_while(|n| list.index_of(&terms(n), None)).collect();
        assert_eq!(again.len(), all.len() - in_use.len());
        assert!(again.iter().all(|index| !in_use.contains(index) && *index != pinned));
    }

    /// A thread had found the index just before the place was closed, and wrote its record afterwards.
    #[test]
    fn an_index_that_is_found_in_the_second_round_stays() {
        let list = TermsList::new();
        let index = list.index_of(&terms(1), None).unwrap();
        round(&list, &[], Time::EPOCH);
        round(&list, &[index], Time::EPOCH);
        round(&list, &[index], Time::EPOCH.checked_add(PAUSE).unwrap());
        assert_eq!(list.get(index), Some(terms(1)));
        assert_eq!(list.index_of(&terms(1), None), Some(index));
    }

    #[test]
    fn what_is_pinned_stays_until_it_is_unpinned_as_often() {
        let list = TermsList::new();
        let index = list.pin(&terms(1), None).unwrap();
        assert_eq!(list.pin(&terms(1), None), Some(index));
        let mut now = Time::EPOCH;
        for (pins, expected) in [(2, Some(terms(1))), (1, Some(terms(1))), (0, None)] {
            for _ in 0..2 {
                round(&list, &[], now);
                now = now.checked_add(PAUSE).unwrap();
            }
            assert_eq!(list.get(index), expected, "{pins} pins");
            list.unpin(index);
        }
    }

    #[test]
    fn a_round_that_finds_all_in_use_is_followed_by_a_pause() {
        let list = TermsList::new();
        let index = list.index_of(&terms(1), None).unwrap();
        // The look-up itself is a mark, until a round begins.
        round(&list, &[index], Time::EPOCH);
        assert!(list.round(Time::EPOCH).is_none());
        assert!(list.round(Time::EPOCH.checked_add(PAUSE).unwrap()).is_some());
    }
}
