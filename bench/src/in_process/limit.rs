//! The limits that all systems get, as far as each can express them.

use std::time::Duration;

/// So many in each period, and so many at once.
pub(crate) struct Limit {
    pub(crate) count: u32,
    pub(crate) period: Duration,
    pub(crate) burst: u32,
}

/// One of the two limits in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// A million a second. A loop around one key asks 10 to 30 million times a second, so it is
    /// denied most of the time and allowed once a microsecond: both ways are measured. The faster
    /// a system, the smaller the share it allows, and the table shows it.
    Fast,
    /// One a minute: no key is forgotten between two turns, so that what is measured is a check of
    /// a key that is known. Each is asked about so seldom that it is always allowed.
    Slow,
}

impl Pace {
    pub(crate) fn limit(self) -> Limit {
        match self {
            Pace::Fast => Limit { count: 1_000_000, period: Duration::from_secs(1), burst: 100 },
            Pace::Slow => Limit { count: 1, period: Duration::from_secs(60), burst: 100 },
        }
    }
}

impl Limit {
    /// The time in which one comes back.
    pub(crate) fn interval(&self) -> Duration {
        self.period / self.count
    }
}
