//! The interface of the systems that are measured.

use std::hint::black_box;
use std::time::Duration;

/// Interval at which a cached clock is updated.
pub(crate) const CLOCK_INTERVAL: Duration = Duration::from_millis(1);

/// The loops are compiled for each system, so that a check is a direct call; only a whole loop is a
/// virtual call. All systems are called in this way.
pub(crate) trait System: Sync {
    /// Returns whether a check of the key is allowed.
    #[expect(clippy::ptr_arg, reason = "governor takes a reference to its own key type")]
    fn check(&self, key: &String) -> bool;

    /// Checks one key `times` times. Returns how many were allowed.
    fn check_hot(&self, key: &String, times: u64) -> u64 {
        (0..times).map(|_| u64::from(black_box(self.check(black_box(key))))).sum()
    }

    /// Checks these keys. Returns how many were allowed.
    fn check_each(&self, keys: &[String]) -> u64 {
        keys.iter().map(|key| u64::from(black_box(self.check(black_box(key))))).sum()
    }

    /// Checks these keys, several in one call. Default: one by one.
    fn check_batches(&self, keys: &[String]) -> u64 {
        self.check_each(keys)
    }
}
