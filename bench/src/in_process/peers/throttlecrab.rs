//! throttlecrab: GCRA in a map that needs `&mut`, so behind a lock, as its documentation advises.

use std::sync::Mutex;
use std::time::SystemTime;

use throttlecrab::{PeriodicStore, RateLimiter};

use crate::in_process::limit::Limit;
use crate::in_process::system::System;

/// The store is the default according to its README. (While the map is more than three quarters full,
/// the adaptive store scans all of it at each check: it cannot be filled.)
pub(crate) struct Locked {
    limiter: Mutex<RateLimiter<PeriodicStore>>,
    burst: i64,
    count: i64,
    period_s: i64,
}

impl Locked {
    pub(crate) fn new(limit: &Limit) -> anyhow::Result<Locked> {
        Ok(Locked {
            limiter: Mutex::new(RateLimiter::new(PeriodicStore::new())),
            burst: i64::from(limit.burst),
            count: i64::from(limit.count),
            period_s: i64::try_from(limit.period.as_secs())?,
        })
    }
}

impl System for Locked {
    fn check(&self, key: &String) -> bool {
        let mut limiter = self.limiter.lock().expect("no thread panics with the lock");
        let now = SystemTime::now();
        let checked = limiter.rate_limit(key, self.burst, self.count, self.period_s, 1, now);
        checked.expect("a map does not fail").0
    }
}
