//! The numbers that states were written under, each kept once and known by a small number.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock};

use tollgate_core::storage::Terms;

use super::hash::place_in;

/// How many terms are on one page: as many as a byte can number.
const PAGE: usize = 256;
/// How many more pages there can be. Whoever brings more terms than fit has their states kept
/// whole.
const MORE_PAGES: usize = 15;

/// How many terms there can be; the number zero is none of them.
const MOST: usize = PAGE * (MORE_PAGES + 1) - 1;
/// How many numbers are kept at hand: a power of two.
const RECENT: usize = 16;

/// A number that differs where terms do, most of the time.
fn mixed(words: [u64; 4]) -> u64 {
    let mix = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    words.into_iter().fold(0, mix) >> 32
}

type Page = Box<[OnceLock<Terms>; PAGE]>;

fn empty_page() -> Page {
    Box::new([const { OnceLock::new() }; PAGE])
}

/// A list of terms that only grows. Reading takes no lock.
pub(super) struct TermsList {
    first: Page,
    more: [OnceLock<Page>; MORE_PAGES],
    known: RwLock<HashMap<[u64; 4], u32>>,
    /// Numbers that were asked for lately: most keys of a store are under a few terms.
    recent: [AtomicU32; RECENT],
}

impl TermsList {
    pub(super) fn new() -> TermsList {
        TermsList {
            first: empty_page(),
            more: [const { OnceLock::new() }; MORE_PAGES],
            known: RwLock::default(),
            recent: [const { AtomicU32::new(0) }; RECENT],
        }
    }

    /// The terms with this number.
    #[inline]
    pub(super) fn get(&self, number: u32) -> Option<&Terms> {
        match u8::try_from(number) {
            Ok(number) => self.first.get(usize::from(number))?.get(),
            Err(_) => {
                let number = usize::try_from(number).ok()?;
                let page = self.more.get((number / PAGE).checked_sub(1)?)?;
                page.get()?.get(number % PAGE)?.get()
            }
        }
    }

    /// The number of these terms, from 1 on; `None` if there are too many of them.
    pub(super) fn number(&self, terms: &Terms) -> Option<u32> {
        let words = terms.to_words();
        let recent = self.recent.get(place_in(RECENT, mixed(words)))?;
        let number = recent.load(Ordering::Relaxed);
        if self.get(number) == Some(terms) {
            return Some(number);
        }
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let (found, is_full) = (known.get(&words).copied(), known.len() >= MOST);
        drop(known);
        let number = match found {
            Some(number) => number,
            None if is_full => return None,
            None => self.add(words, *terms)?,
        };
        recent.store(number, Ordering::Relaxed);
        Some(number)
    }

    fn add(&self, words: [u64; 4], terms: Terms) -> Option<u32> {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = known.get(&words) {
            return Some(*number);
        }
        let number = known.len().checked_add(1)?;
        let page = match (number / PAGE).checked_sub(1) {
            None => &self.first,
            Some(page) => self.more.get(page)?.get_or_init(empty_page),
        };
        page.get(number % PAGE)?.get_or_init(|| terms);
        let number = u32::try_from(number).ok()?;
        known.insert(words, number);
        Some(number)
    }
}
