//! Counts the entries that operations walk: slots, leases, reservations, records. Tests bound the cost of a single
//! operation by it, since time says little on a busy machine.

#[cfg(feature = "contract")]
use std::cell::Cell;

#[cfg(feature = "contract")]
thread_local! {
    static WALKED: Cell<usize> = const { Cell::new(0) };
}

/// Counts entries that are walked, copied or moved by this thread. Does nothing without the feature `contract`, which
/// is for tests.
#[inline(always)]
pub fn walk(entries: usize) {
    #[cfg(feature = "contract")]
    WALKED.set(WALKED.get().saturating_add(entries));
    #[cfg(not(feature = "contract"))]
    let _ = entries;
}

/// Returns how many entries this thread has walked since the last call.
#[cfg(feature = "contract")]
#[must_use]
pub fn take_walked() -> usize {
    WALKED.take()
}
