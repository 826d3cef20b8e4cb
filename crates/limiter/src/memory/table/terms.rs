//! The terms that states are written under: each is kept once, and states refer to it by index.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock};

use tollgate_core::storage::Terms;

use crate::hash::index_in;

/// Number of terms on one page: as many as a byte can index.
const PAGE_LEN: usize = 256;
/// Maximum number of pages after the first. States under terms that do not fit are kept whole.
const MORE_PAGES: usize = 15;

/// Maximum number of terms. Index zero is not used.
const MAX_TERMS: usize = PAGE_LEN * (MORE_PAGES + 1) - 1;
/// Number of recently used indices that are cached. A power of two.
const RECENT_LEN: usize = 16;

/// A cheap hash of terms.
fn mix(words: [u64; 4]) -> u64 {
    let mix = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    words.into_iter().fold(0, mix) >> 32
}

type Page = Box<[OnceLock<Terms>; PAGE_LEN]>;

fn empty_page() -> Page {
    Box::new([const { OnceLock::new() }; PAGE_LEN])
}

/// A list of terms that only grows. Reading takes no lock.
pub(crate) struct TermsList {
    first: Page,
    more: [OnceLock<Page>; MORE_PAGES],
    indices: RwLock<HashMap<[u64; 4], u32>>,
    /// Recently used indices: most keys of a store are under a few terms.
    recent: [AtomicU32; RECENT_LEN],
}

impl TermsList {
    pub(crate) fn new() -> TermsList {
        TermsList {
            first: empty_page(),
            more: [const { OnceLock::new() }; MORE_PAGES],
            indices: RwLock::default(),
            recent: [const { AtomicU32::new(0) }; RECENT_LEN],
        }
    }

    /// Returns the terms at this index.
    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<&Terms> {
        match u8::try_from(index) {
            Ok(index) => self.first.get(usize::from(index))?.get(),
            Err(_) => {
                let index = usize::try_from(index).ok()?;
                let page = self.more.get((index / PAGE_LEN).checked_sub(1)?)?;
                page.get()?.get(index % PAGE_LEN)?.get()
            }
        }
    }

    /// Returns the index of these terms, which is at least 1, and adds them if they are new. Returns
    /// `None` if the list is full.
    pub(crate) fn index_of(&self, terms: &Terms) -> Option<u32> {
        let words = terms.to_words();
        let recent = self.recent.get(index_in(RECENT_LEN, mix(words)))?;
        let index = recent.load(Ordering::Relaxed);
        if self.get(index) == Some(terms) {
            return Some(index);
        }
        let indices = self.indices.read().unwrap_or_else(PoisonError::into_inner);
        let (found, is_full) = (indices.get(&words).copied(), indices.len() >= MAX_TERMS);
        drop(indices);
        let index = match found {
            Some(index) => index,
            None if is_full => return None,
            None => self.add(words, *terms)?,
        };
        recent.store(index, Ordering::Relaxed);
        Some(index)
    }

    fn add(&self, words: [u64; 4], terms: Terms) -> Option<u32> {
        let mut indices = self.indices.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = indices.get(&words) {
            return Some(*index);
        }
        let index = indices.len().checked_add(1)?;
        let page = match (index / PAGE_LEN).checked_sub(1) {
            None => &self.first,
            Some(page) => self.more.get(page)?.get_or_init(empty_page),
        };
        page.get(index % PAGE_LEN)?.get_or_init(|| terms);
        let index = u32::try_from(index).ok()?;
        indices.insert(words, index);
        Some(index)
    }
}
