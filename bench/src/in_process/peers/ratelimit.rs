//! ratelimit: one token bucket of atomics.

use ratelimit::Ratelimiter;

use crate::in_process::limit::Limit;
use crate::in_process::system::System;

pub(crate) struct Bucket(Ratelimiter);

impl Bucket {
    pub(crate) fn new(limit: &Limit) -> anyhow::Result<Bucket> {
        let burst = u64::from(limit.burst);
        let bucket = Ratelimiter::builder(u64::from(limit.count))
            .period(limit.period)
            .max_tokens(burst)
            .initial_available(burst)
            .build()?;
        Ok(Bucket(bucket))
    }
}

impl System for Bucket {
    fn check(&self, _: &String) -> bool {
        self.0.try_wait().is_ok()
    }
}
