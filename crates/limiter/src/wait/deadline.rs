//! The deadline of a wait.

use std::time::{Duration, Instant};

/// How long a caller waits, in real time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline {
    timeout: Duration,
    /// `None` if it is too far away for an [`Instant`].
    end: Option<Instant>,
}

impl Deadline {
    pub(super) fn after(timeout: Duration) -> Deadline {
        Deadline { timeout, end: Instant::now().checked_add(timeout) }
    }

    /// Returns how long the caller waits in all.
    pub(super) fn timeout(self) -> Duration {
        self.timeout
    }

    /// Returns the time until the deadline.
    pub(super) fn remaining(self) -> Duration {
        let until = |end: Instant| end.saturating_duration_since(Instant::now());
        self.end.map_or(Duration::MAX, until)
    }
}
