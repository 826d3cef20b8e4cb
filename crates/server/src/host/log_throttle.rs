//! What may happen all the time is told now and then.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long nothing is told after something was.
const BETWEEN: Duration = Duration::from_secs(1);

/// When something was told last.
#[derive(Debug, Default)]
pub(crate) struct LogThrottle(Mutex<Option<Instant>>);

impl LogThrottle {
    /// Whether it is time to tell it again. Whoever operations does.
    pub(crate) fn is_time(&self) -> bool {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_time = told.is_none_or(|told| told.elapsed() >= BETWEEN);
        if is_time {
            *told = Some(Instant::now());
        }
        is_time
    }
}
