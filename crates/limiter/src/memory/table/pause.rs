//! A pause between scans for states that have reset.

use std::sync::atomic::{AtomicU64, Ordering};

use tollgate_core::Time;

/// Pause after a scan of some of the shards that did not make enough room, in microseconds. Without it a flood
/// of new keys could spend all processor time on scans.
const PAUSE: u64 = 1_000;
/// Maximum pause after a scan of all shards, which knows when the first state resets, in
/// microseconds. It is bounded because a refund may make a state reset earlier.
const MAX_PAUSE: u64 = 1_000_000;

/// The time until which no scan is made, in microseconds.
#[derive(Debug, Default)]
pub(crate) struct Pause(AtomicU64);

impl Pause {
    /// Returns whether a scan would be futile.
    pub(crate) fn is_on(&self, now: Time) -> bool {
        // A pause longer than the maximum was set before the clock stepped back.
        let ahead = self.0.load(Ordering::Relaxed).checked_sub(now.as_micros());
        ahead.is_some_and(|ahead| ahead > 0 && ahead <= MAX_PAUSE)
    }

    /// Pauses after a scan that did not make enough room: until the first state resets if that is known,
    /// otherwise for a fixed time.
    pub(crate) fn set(&self, now: Time, first_expiry: Option<Time>) {
        let now = now.as_micros();
        let until = first_expiry.map_or(now.saturating_add(PAUSE), Time::as_micros);
        self.0.store(until.min(now.saturating_add(MAX_PAUSE)), Ordering::Relaxed);
    }
}
