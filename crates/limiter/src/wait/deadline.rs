//! The deadline of a wait.

use std::time::{Duration, Instant};

/// An instant of real time; `None` if it is too far away for an [`Instant`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline(Option<Instant>);

impl Deadline {
    pub(super) fn after(timeout: Duration) -> Deadline {
        Deadline(Instant::now().checked_add(timeout))
    }

    /// Returns the time until the deadline.
    pub(super) fn remaining(self) -> Duration {
        let until = |end: Instant| end.saturating_duration_since(Instant::now());
        self.0.map_or(Duration::MAX, until)
    }
}
