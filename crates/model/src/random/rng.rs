//! A small deterministic random number generator (splitmix64).

const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

/// A random number generator. The same seed gives the same numbers.
#[derive(Debug, Clone)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// Creates a generator with this seed.
    pub fn new(seed: u64) -> Rng {
        Rng { state: seed }
    }

    /// Returns the `n`th generator derived from this one.
    pub(crate) fn nth(&self, n: u64) -> Rng {
        let mut mixed = Rng::new(self.state ^ n.wrapping_mul(STRIDE));
        Rng::new(mixed.bits())
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STRIDE);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a whole number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.bits() % (high - low + 1)
    }

    /// Returns a whole number from 1 to `high` whose bit length, not value, is evenly distributed.
    pub(crate) fn of_any_size(&mut self, high: u64) -> u64 {
        let bits = self.between(1, u64::from(u64::BITS - high.leading_zeros()));
        self.between(1, high.min((1 << bits) - 1))
    }

    /// Returns true `times` times in a hundred.
    pub(crate) fn percent(&mut self, times: u64) -> bool {
        self.bits() % 100 < times
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.between(0, from.len() as u64 - 1) as usize]
    }

    /// Returns an index into `weights`, each with a probability by its weight.
    pub(crate) fn weighted(&mut self, weights: &[u64]) -> usize {
        let mut left = self.between(1, weights.iter().sum());
        for (place, &weight) in weights.iter().enumerate() {
            if left <= weight {
                return place;
            }
            left -= weight;
        }
        unreachable!("the sum of the weights is as great as the number drawn")
    }
}
