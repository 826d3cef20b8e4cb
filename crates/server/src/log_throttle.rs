//! Limits how often a message is logged that an outside event can cause at any rate.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Minimum time between two messages.
const INTERVAL: Duration = Duration::from_secs(1);

/// Remembers when something was logged last.
#[derive(Debug, Default)]
pub(crate) struct LogThrottle(Mutex<Option<Instant>>);

impl LogThrottle {
    /// Returns whether a message may be logged now; if so, the caller logs it.
    pub(crate) fn is_time(&self) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_time = last.is_none_or(|last| last.elapsed() >= INTERVAL);
        if is_time {
            *last = Some(Instant::now());
        }
        is_time
    }
}
