//! Windows of a week.

use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Waits until no window or step of seven days ends within the next five minutes, so that no run crosses
/// such a boundary.
pub(crate) fn wait_for_a_quiet_week() {
    const WEEK: u64 = 7 * 24 * 3600;
    const RUN: u64 = 300;
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    while now() % WEEK > WEEK - RUN {
        thread::sleep(Duration::from_secs(1));
    }
}
