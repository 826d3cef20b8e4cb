//! The monotonic clock, which all processes share.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Returns the time since the machine started.
pub(crate) fn now() -> Duration {
    clock_gettime(ClockId::Monotonic).try_into().expect("uptime is not negative")
}

pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).expect("uptime is less than 584 years")
}
