//! The indices that were seen in a round through all shards.

use std::sync::atomic::{AtomicU64, Ordering};

use super::place::PLACES;

const WORDS: usize = PLACES.div_ceil(u64::BITS) as usize;

/// A set of indices.
pub(super) struct Marks([AtomicU64; WORDS]);

impl Marks {
    pub(super) fn new() -> Marks {
        Marks([const { AtomicU64::new(0) }; WORDS])
    }

    fn word(&self, index: u32) -> Option<(&AtomicU64, u64)> {
        let word = self.0.get(usize::try_from(index / u64::BITS).ok()?)?;
        Some((word, 1_u64 << (index % u64::BITS)))
    }

    /// Adds an index. Mostly it is there, and then nothing is written.
    #[inline]
    pub(super) fn add(&self, index: u32) {
        if let Some((word, bit)) = self.word(index)
            && word.load(Ordering::Relaxed) & bit == 0
        {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    pub(super) fn has(&self, index: u32) -> bool {
        self.word(index).is_some_and(|(word, bit)| word.load(Ordering::Relaxed) & bit != 0)
    }

    pub(super) fn clear(&self) {
        self.0.iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }
}
