//! The terms that states are written under, and the quota that they count in: both are kept once, and states refer
//! to them by index.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use tollgate_core::storage::Terms;

use super::quota::{self, Quota, QuotaRef};
use super::record::fits_one_word;
use crate::hash::index_in;

/// Number of terms on one page: as many as a byte can index.
const PAGE_LEN: usize = 256;
/// Maximum number of pages after the first. States under terms that do not fit are kept whole.
const MORE_PAGES: usize = 15;

/// The indices, in the order in which they are given out. Index zero is not used.
///
/// Clients may bring any number of limits with their operations. Those that a program or its configuration names
/// have every second range for themselves: the first of them where a state of one word stays one, as far as that
/// goes.
const INDICES: [Range<u32>; 4] = [1..128, 128..ONE_WORD_END, ONE_WORD_END..3_072, 3_072..4_096];
/// The end of the indices that fit above a state of one word.
const ONE_WORD_END: u32 = 256;
const _: () = assert!(fits_one_word(ONE_WORD_END - 1) && !fits_one_word(ONE_WORD_END));
const _: () = assert!(INDICES[3].end as usize == PAGE_LEN * (MORE_PAGES + 1));

/// Number of recently used indices that are cached. A power of two.
const RECENT_LEN: usize = 16;

/// A cheap hash of terms.
fn mix(words: [u64; 4]) -> u64 {
    let mix = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    words.into_iter().fold(0, mix) >> 32
}

/// What an index stands for.
struct Place {
    terms: Terms,
    quota: QuotaRef,
}

impl Place {
    fn is(&self, terms: &Terms, quota: Option<&Arc<Quota>>) -> bool {
        self.terms == *terms && quota::is_same(self.quota.as_ref(), quota)
    }
}

/// What an index is found by: the words of the terms, and the address of the quota, which is never freed.
type PlaceKey = ([u64; 4], usize);

fn place_key(terms: &Terms, quota: Option<&Arc<Quota>>) -> PlaceKey {
    (terms.to_words(), quota.map_or(0, |quota| Arc::as_ptr(quota).addr()))
}

type Page = Box<[OnceLock<Place>; PAGE_LEN]>;

fn empty_page() -> Page {
    Box::new([const { OnceLock::new() }; PAGE_LEN])
}

/// A list of terms that only grows. Reading takes no lock.
pub(crate) struct TermsList {
    first: Page,
    more: [OnceLock<Page>; MORE_PAGES],
    indices: RwLock<Indices>,
    /// Recently used indices: most keys of a store are under a few terms.
    recent: [AtomicU32; RECENT_LEN],
}

/// The index of all terms in the list, and what is left of [`INDICES`].
struct Indices {
    of: HashMap<PlaceKey, u32>,
    free: [Range<u32>; INDICES.len()],
}

impl Indices {
    /// Returns the index of these terms, unless the next one is better.
    fn find(&self, key: &PlaceKey, is_named: bool) -> Option<u32> {
        let index = self.of.get(key).copied()?;
        let is_better = |next| fits_one_word(next) && !fits_one_word(index);
        (!self.next(is_named).is_some_and(is_better)).then_some(index)
    }

    /// Returns the next free index for such a limit.
    fn next(&self, is_named: bool) -> Option<u32> {
        self.free.iter().step_by(step(is_named)).find_map(|free| free.clone().next())
    }

    fn take_next(&mut self, is_named: bool) -> Option<u32> {
        self.free.iter_mut().step_by(step(is_named)).find_map(Range::next)
    }
}

/// Returns how to step through the ranges: a limit that is not named leaves out every second.
fn step(is_named: bool) -> usize {
    if is_named { 1 } else { 2 }
}

impl TermsList {
    pub(crate) fn new() -> TermsList {
        TermsList {
            first: empty_page(),
            more: [const { OnceLock::new() }; MORE_PAGES],
            indices: RwLock::new(Indices { of: HashMap::new(), free: INDICES }),
            recent: [const { AtomicU32::new(0) }; RECENT_LEN],
        }
    }

    /// Returns the terms at this index.
    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<&Terms> {
        self.place(index).map(|place| &place.terms)
    }

    /// Returns the quota that states under this index count in.
    pub(crate) fn quota(&self, index: u32) -> Option<&Arc<Quota>> {
        self.place(index)?.quota.as_ref()
    }

    #[inline]
    fn place(&self, index: u32) -> Option<&Place> {
        match u8::try_from(index) {
            Ok(index) => self.first.get(usize::from(index))?.get(),
            Err(_) => {
                let index = usize::try_from(index).ok()?;
                let page = self.more.get((index / PAGE_LEN).checked_sub(1)?)?;
                page.get()?.get(index % PAGE_LEN)?.get()
            }
        }
    }

    /// Returns the index of these terms and this quota, which is at least 1, and adds them if they are new.
    /// Returns `None` if the list is full.
    pub(crate) fn index_of(&self, terms: &Terms, quota: Option<&Arc<Quota>>) -> Option<u32> {
        let index = self.recent(terms)?.load(Ordering::Relaxed);
        if self.place(index).is_some_and(|place| place.is(terms, quota)) {
            return Some(index);
        }
        self.find_or_add(terms, quota, false)
    }

    /// As [`index_of`](TermsList::index_of) for a limit that a program or its configuration names.
    ///
    /// If an operation came first and got an index that does not fit above one word, the terms get a second one
    /// that does, as far as there is one: what came with operations, or is in a snapshot, must not decide how
    /// named limits are kept. States under the first are read as ever, and written under the second.
    pub(crate) fn index_of_named(&self, terms: &Terms, quota: Option<&Arc<Quota>>) -> Option<u32> {
        self.find_or_add(terms, quota, true)
    }

    fn recent(&self, terms: &Terms) -> Option<&AtomicU32> {
        self.recent.get(index_in(RECENT_LEN, mix(terms.to_words())))
    }

    fn find_or_add(
        &self,
        terms: &Terms,
        quota: Option<&Arc<Quota>>,
        is_named: bool,
    ) -> Option<u32> {
        let key = place_key(terms, quota);
        let indices = self.indices.read().unwrap_or_else(PoisonError::into_inner);
        let (found, is_full) = (indices.find(&key, is_named), indices.next(is_named).is_none());
        drop(indices);
        let index = match found {
            Some(index) => index,
            // Without the lock for writing, which each operation with a limit of its own would take.
            None if is_full => return None,
            None => self.add(key, Place { terms: *terms, quota: quota.cloned() }, is_named)?,
        };
        self.recent(terms)?.store(index, Ordering::Relaxed);
        Some(index)
    }

    fn add(&self, key: PlaceKey, place: Place, is_named: bool) -> Option<u32> {
        let mut indices = self.indices.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = indices.find(&key, is_named) {
            return Some(index);
        }
        let index = indices.take_next(is_named)?;
        let slot = usize::try_from(index).ok()?;
        let page = match (slot / PAGE_LEN).checked_sub(1) {
            None => &self.first,
            Some(page) => self.more.get(page)?.get_or_init(empty_page),
        };
        page.get(slot % PAGE_LEN)?.get_or_init(|| place);
        indices.of.insert(key, index);
        Some(index)
    }
}

#[cfg(test)]
mod tests {
    use tollgate_core::Limit;
    use tollgate_core::storage::LimitStorage as _;

    use super::{Terms, TermsList, fits_one_word};

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
            let index = list.index_of_named(&terms(rate), None).unwrap();
            assert_eq!(fits_one_word(index), rate < named.start + 128);
            assert!(!given.contains(&index), "{index}");
            assert_eq!(list.index_of(&terms(rate), None), Some(index));
            assert_eq!(list.get(index), Some(&terms(rate)));
        }
        assert_eq!(list.index_of_named(&terms(named.end), None), None);
    }

    /// Also if an operation, or a snapshot, came first.
    #[test]
    fn named_limits_get_an_index_that_fits_one_word() {
        let list = TermsList::new();
        let given: Vec<u32> =
            (1..=200).map(|rate| list.index_of(&terms(rate), None).unwrap()).collect();
        let before = list.index_of(&terms(150), None).unwrap();
        let index = list.index_of_named(&terms(150), None).unwrap();
        assert!(!fits_one_word(before) && fits_one_word(index) && !given.contains(&index));
        assert_eq!(list.index_of(&terms(150), None), Some(index));
        assert_eq!(list.get(before), Some(&terms(150)));
        assert_eq!(list.index_of_named(&terms(150), None), Some(index));
        assert_eq!(list.index_of_named(&terms(1), None), Some(1));
    }

    #[test]
    fn a_named_limit_takes_the_first_index() {
        let list = TermsList::new();
        assert_eq!(list.index_of_named(&terms(1), None), Some(1));
        assert_eq!(list.index_of(&terms(2), None), Some(2));
        assert_eq!(list.index_of_named(&terms(2), None), Some(2));
    }
}
