//! The numbers that states were written under, each kept once and known by a small number.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock};

use tollgate_core::Terms;

/// How many terms are on one page.
const PAGE: usize = 256;
/// How many pages there can be. Whoever brings more terms than fit has their states kept whole.
const PAGES: usize = 16;

type Page = Box<[OnceLock<Terms>]>;

/// A list of terms that only grows. Reading takes no lock.
pub(super) struct TermsList {
    pages: [OnceLock<Page>; PAGES],
    known: RwLock<HashMap<[u64; 4], u32>>,
    /// The number that was asked for last: most keys of a store are under the same terms.
    recent: AtomicU32,
}

impl TermsList {
    pub(super) fn new() -> TermsList {
        let known = RwLock::new(HashMap::new());
        TermsList { pages: [const { OnceLock::new() }; PAGES], known, recent: AtomicU32::new(0) }
    }

    /// The terms with this number.
    #[inline]
    pub(super) fn get(&self, number: u32) -> Option<&Terms> {
        let number = usize::try_from(number).ok()?;
        self.pages.get(number / PAGE)?.get()?.get(number % PAGE)?.get()
    }

    /// The number of these terms, from 1 on; `None` if there are too many of them.
    pub(super) fn number(&self, terms: &Terms) -> Option<u32> {
        let recent = self.recent.load(Ordering::Relaxed);
        if self.get(recent) == Some(terms) {
            return Some(recent);
        }
        let words = terms.to_words();
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner).get(&words).copied();
        let number = known.or_else(|| self.add(words, *terms))?;
        self.recent.store(number, Ordering::Relaxed);
        Some(number)
    }

    fn add(&self, words: [u64; 4], terms: Terms) -> Option<u32> {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = known.get(&words) {
            return Some(*number);
        }
        let number = known.len().checked_add(1).filter(|number| *number < PAGE * PAGES)?;
        let page = self
            .pages
            .get(number / PAGE)?
            .get_or_init(|| (0..PAGE).map(|_| OnceLock::new()).collect());
        page.get(number % PAGE)?.get_or_init(|| terms);
        let number = u32::try_from(number).ok()?;
        known.insert(words, number);
        Some(number)
    }
}
