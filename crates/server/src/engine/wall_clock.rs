//! Tells operators that the wall clock of this machine is wrong.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Whether the wall clock is behind according to the log.
#[derive(Debug, Default)]
pub(super) struct WallClockLog(AtomicBool);

impl WallClockLog {
    /// Logs that the wall clock is behind, or agrees again, if that is not what the log says. `calendar`
    /// returns the names of the policies that count by the calendar.
    pub(super) fn note(&self, behind: Option<Duration>, calendar: impl FnOnce() -> String) {
        if self.0.swap(behind.is_some(), Ordering::Relaxed) == behind.is_some() {
            return;
        }
        match behind {
            Some(behind) => tracing::error!(
                behind_seconds = behind.as_secs(),
                calendar = calendar(),
                "the wall clock is {} s behind the server's clock, which never steps back and runs 5% slower \
                 until they agree; calendar windows begin and end too early; fix the system clock or restart \
                 the server",
                behind.as_secs()
            ),
            None => tracing::info!("the wall clock and the server's clock agree again"),
        }
    }
}
