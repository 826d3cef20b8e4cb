//! What is measured: something that answers whether a key may pass.

use std::hint::black_box;
use std::time::Duration;

/// How old the time may be that a cached clock tells.
pub(crate) const CACHED_FOR: Duration = Duration::from_millis(1);

/// The threads are compiled for each system by itself, so that a check is called directly; only a
/// whole loop is called through a table. All systems are called in this one way.
pub(crate) trait System: Sync {
    /// Whether the key may pass.
    #[expect(clippy::ptr_arg, reason = "governor looks up a reference to its own type of key")]
    fn check(&self, key: &String) -> bool;

    /// Checks one key so many times; returns how many were allowed.
    fn check_hot(&self, key: &String, times: u64) -> u64 {
        (0..times).map(|_| u64::from(black_box(self.check(black_box(key))))).sum()
    }

    /// Checks these keys; returns how many were allowed.
    fn check_each(&self, keys: &[String]) -> u64 {
        keys.iter().map(|key| u64::from(black_box(self.check(black_box(key))))).sum()
    }

    /// The same, several keys in one call. Whoever has no such call is asked one by one.
    fn check_batches(&self, keys: &[String]) -> u64 {
        self.check_each(keys)
    }
}
