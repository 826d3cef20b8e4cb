//! What an index stands for: terms, and the quota that states under them count in.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use tollgate_core::storage::Terms;

use super::super::quota::{self, Quota, QuotaRef};

/// Number of places on one page: as many as a byte can index.
const PAGE_LEN: usize = 256;
/// Maximum number of pages after the first. States under terms that do not fit are kept whole.
const MORE_PAGES: usize = 15;
/// Number of places.
pub(super) const PLACES: u32 = 4_096;
const _: () = assert!(PLACES as usize == PAGE_LEN * (MORE_PAGES + 1));

/// The words of an unused place: no terms have them.
const UNUSED: [u64; 4] = [u64::MAX; 4];

/// Terms and a quota, which are read without a lock.
///
/// They change only while no record has the index of the place, and no thread is about to write one. So they never change
/// under a reader who has locked the shard of a record with this index.
pub(super) struct Place {
    /// The words of the terms.
    words: [AtomicU64; 4],
    /// Whether no more records get its index.
    is_closed: AtomicBool,
    /// Whether there is a quota. If not, as usual, no lock is taken.
    has_quota: AtomicBool,
    quota: RwLock<QuotaRef>,
}

impl Place {
    const fn unused() -> Place {
        Place {
            words: [const { AtomicU64::new(u64::MAX) }; 4],
            is_closed: AtomicBool::new(true),
            has_quota: AtomicBool::new(false),
            quota: RwLock::new(None),
        }
    }

    #[inline]
    pub(super) fn words(&self) -> [u64; 4] {
        self.words.each_ref().map(|word| word.load(Ordering::Relaxed))
    }

    /// Returns whether these are its words. One after the other: to compare them as a whole, the processor would have
    /// to wait until all are written to memory.
    #[inline(always)]
    pub(super) fn has(&self, [a, b, c, d]: [u64; 4]) -> bool {
        let [first, second, third, fourth] = &self.words;
        first.load(Ordering::Relaxed) == a
            && second.load(Ordering::Relaxed) == b
            && third.load(Ordering::Relaxed) == c
            && fourth.load(Ordering::Relaxed) == d
    }

    #[inline]
    pub(super) fn terms(&self) -> Option<Terms> {
        Terms::from_words(self.words())
    }

    pub(super) fn quota(&self) -> QuotaRef {
        if !self.has_quota.load(Ordering::Acquire) {
            return None;
        }
        self.quota.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn is(&self, terms: &Terms, quota: Option<&Arc<Quota>>) -> bool {
        self.has(terms.to_words()) && quota::is_same(self.quota().as_ref(), quota)
    }

    pub(super) fn is_used(&self) -> bool {
        self.words() != UNUSED
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Closes the place, or opens it.
    pub(super) fn set_closed(&self, is_closed: bool) {
        self.is_closed.store(is_closed, Ordering::Release);
    }

    /// Opens an unused place for these terms.
    pub(super) fn open(&self, terms: &Terms, quota: QuotaRef) {
        self.set(terms.to_words(), quota);
        self.set_closed(false);
    }

    /// Frees a closed place.
    pub(super) fn free(&self) {
        self.set(UNUSED, None);
    }

    /// Sets the words so that a reader who finds them later has the [version](crate::lock::Lock::version) of each
    /// shard from before.
    fn set(&self, words: [u64; 4], quota: QuotaRef) {
        self.has_quota.store(quota.is_some(), Ordering::Release);
        *self.quota.write().unwrap_or_else(PoisonError::into_inner) = quota;
        for (word, new) in self.words.iter().zip(words) {
            word.store(new, Ordering::Release);
        }
    }
}

type Page = Box<[Place; PAGE_LEN]>;

fn empty_page() -> Page {
    Box::new([const { Place::unused() }; PAGE_LEN])
}

/// All places by their indices.
pub(super) struct Places {
    first: Page,
    more: [OnceLock<Page>; MORE_PAGES],
}

impl Places {
    pub(super) fn new() -> Places {
        Places { first: empty_page(), more: [const { OnceLock::new() }; MORE_PAGES] }
    }

    #[inline]
    pub(super) fn get(&self, index: u32) -> Option<&Place> {
        match u8::try_from(index) {
            Ok(index) => self.first.get(usize::from(index)),
            Err(_) => {
                let index = usize::try_from(index).ok()?;
                let page = self.more.get((index / PAGE_LEN).checked_sub(1)?)?;
                page.get()?.get(index % PAGE_LEN)
            }
        }
    }

    /// As [`get`](Places::get); allocates the page of the place if it has none.
    pub(super) fn get_or_allocate(&self, index: u32) -> Option<&Place> {
        if let Some(page) = (usize::try_from(index).ok()? / PAGE_LEN).checked_sub(1) {
            self.more.get(page)?.get_or_init(empty_page);
        }
        self.get(index)
    }

    /// Iterates over the places in use, with their indices.
    pub(super) fn used(&self) -> impl Iterator<Item = (u32, &Place)> {
        let places = (0..PLACES).filter_map(|index| Some((index, self.get(index)?)));
        places.filter(|(_, place)| place.is_used())
    }
}
