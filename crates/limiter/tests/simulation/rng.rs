//! A small deterministic random number generator (splitmix64).

const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

/// A random number generator. The same seed gives the same numbers.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// Returns another generator, whose numbers do not depend on how this one is used afterwards.
    pub(crate) fn fork(&mut self) -> Rng {
        Rng(self.bits())
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STRIDE);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a whole number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.bits() % (high - low + 1)
    }

    /// Returns an index below `len`.
    pub(crate) fn index(&mut self, len: usize) -> usize {
        self.between(0, len as u64 - 1) as usize
    }

    /// Returns true `times` times in a hundred.
    pub(crate) fn percent(&mut self, times: u64) -> bool {
        self.bits() % 100 < times
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.index(from.len())]
    }
}
