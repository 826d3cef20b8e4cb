//! leaky-bucket: one bucket behind a lock, made for waiting; we only try.

use std::time::Duration;

use leaky_bucket::RateLimiter;

use crate::in_process::limit::Limit;
use crate::in_process::system::System;

pub(crate) struct Bucket(RateLimiter);

/// It counts time in whole milliseconds, and divides by zero if the interval is shorter.
const SHORTEST: Duration = Duration::from_millis(1);

impl Bucket {
    /// Where an interval is stretched, what comes back in it and what fits grow with it: a
    /// million a second is a thousand in each millisecond.
    pub(crate) fn new(limit: &Limit) -> anyhow::Result<Bucket> {
        let interval = limit.interval().max(SHORTEST);
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
