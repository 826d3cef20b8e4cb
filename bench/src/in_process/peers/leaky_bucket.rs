//! leaky-bucket: one bucket behind a lock, made for waiting; only `try_acquire` is measured.

use std::time::Duration;

use leaky_bucket::RateLimiter;

use crate::in_process::limit::Limit;
use crate::in_process::system::System;

pub(crate) struct Bucket(RateLimiter);

/// It counts time in whole milliseconds, and divides by zero if the interval is shorter.
const MIN_INTERVAL: Duration = Duration::from_millis(1);

impl Bucket {
    /// If the interval is lengthened, the refill and the capacity grow with it: a million per second is
    /// a thousand per millisecond.
    pub(crate) fn new(limit: &Limit) -> anyhow::Result<Bucket> {
        let interval = limit.interval().max(MIN_INTERVAL);
        let refill = usize::try_from(interval.as_nanos() / limit.interval().as_nanos())?;
        let max = refill.max(usize::try_from(limit.burst)?);
        let bucket =
            RateLimiter::builder().interval(interval).refill(refill).max(max).initial(max).build();
        Ok(Bucket(bucket))
    }
}

impl System for Bucket {
    fn check(&self, _: &String) -> bool {
        self.0.try_acquire(1)
    }
}
