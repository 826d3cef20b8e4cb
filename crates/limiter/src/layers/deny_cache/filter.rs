//! Which subjects occur among some operations.

use crate::layers::hash::{OpKey, index_in};

/// A small Bloom filter: the subjects that may occur among some operations.
#[derive(Default)]
pub(super) struct Filter([u64; 16]);

impl Filter {
    fn bits(key: &OpKey) -> impl Iterator<Item = (usize, u64)> {
        key.subjects.iter().map(|subject| {
            let bit = index_in(1024, *subject);
            (bit / 64, 1 << (bit % 64))
        })
    }

    pub(super) fn add(&mut self, key: &OpKey) {
        for (word, bit) in Filter::bits(key) {
            self.0.get_mut(word).into_iter().for_each(|word| *word |= bit);
        }
    }

    pub(super) fn may_contain(&self, key: &OpKey) -> bool {
        Filter::bits(key).any(|(word, bit)| self.0.get(word).is_some_and(|word| word & bit != 0))
    }
}
