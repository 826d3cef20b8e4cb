//! The limits that all systems get, as far as each can express them.

use std::time::Duration;

/// A rate and a burst.
pub(crate) struct Limit {
    pub(crate) count: u32,
    pub(crate) period: Duration,
    pub(crate) burst: u32,
}

/// One of the limits in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// A million per second. A loop around one key makes 10 to 30 million checks per second, so most are
    /// denied and one per microsecond is allowed: both paths are measured. The faster a system, the
    /// smaller the share it allows, which the table shows.
    Fast,
    /// One per minute: no key expires between two turns, so that checks of known keys are measured.
    /// Each key is checked so rarely that it is always allowed.
    Slow,
    /// So much that nothing is denied.
    Allowed,
    /// One per day: all but the first check of a key are denied.
    Denied,
}

impl Pace {
    pub(crate) fn limit(self) -> Limit {
        match self {
            Pace::Fast => Limit { count: 1_000_000, period: Duration::from_secs(1), burst: 100 },
            Pace::Slow => Limit { count: 1, period: Duration::from_secs(60), burst: 100 },
            Pace::Allowed => {
                Limit { count: 1_000_000, period: Duration::from_secs(1), burst: 1_000_000_000 }
            }
            Pace::Denied => Limit { count: 1, period: Duration::from_secs(86_400), burst: 1 },
        }
    }
}

impl Limit {
    /// Returns the time in which one unit is refilled.
    pub(crate) fn interval(&self) -> Duration {
        self.period / self.count
    }
}
