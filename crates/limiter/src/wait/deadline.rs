//! Until when someone is willing to wait.

use std::time::{Duration, Instant};

/// An instant of real time; `None` if it is too far away to be one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline(Option<Instant>);

impl Deadline {
    pub(super) fn after(longest: Duration) -> Deadline {
        Deadline(Instant::now().checked_add(longest))
    }

    /// How long until then.
    pub(super) fn left(self) -> Duration {
        let until = |end: Instant| end.saturating_duration_since(Instant::now());
        self.0.map_or(Duration::MAX, until)
    }
}
