//! governor: GCRA in a sharded map, with its default clock and store; with a cached clock; and one
//! bucket alone.

use std::num::NonZeroU32;

use anyhow::Context;
use governor::clock::{QuantaInstant, QuantaUpkeepClock};
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::DashMapStateStore;
use governor::{DefaultDirectRateLimiter, DefaultKeyedRateLimiter, Quota, RateLimiter};

use crate::in_process::limit::Limit;
use crate::in_process::system::{CLOCK_INTERVAL, System};

pub(crate) struct Keyed(DefaultKeyedRateLimiter<String>);

pub(crate) struct Cached(Upkept);

type Upkept = RateLimiter<
    String,
    DashMapStateStore<String>,
    QuantaUpkeepClock,
    NoOpMiddleware<QuantaInstant>,
>;

pub(crate) struct Direct(DefaultDirectRateLimiter);

fn quota(limit: &Limit) -> anyhow::Result<Quota> {
    let burst = NonZeroU32::new(limit.burst).context("the burst is zero")?;
    let quota = Quota::with_period(limit.interval()).context("the interval is zero")?;
    Ok(quota.allow_burst(burst))
}

impl Keyed {
    pub(crate) fn new(limit: &Limit) -> anyhow::Result<Keyed> {
        Ok(Keyed(RateLimiter::keyed(quota(limit)?)))
    }
}

impl Cached {
    pub(crate) fn new(limit: &Limit) -> anyhow::Result<Cached> {
        let clock = QuantaUpkeepClock::from_interval(CLOCK_INTERVAL)?;
        Ok(Cached(RateLimiter::new(quota(limit)?, DashMapStateStore::default(), clock)))
    }
}

impl Direct {
    pub(crate) fn new(limit: &Limit) -> anyhow::Result<Direct> {
        Ok(Direct(RateLimiter::direct(quota(limit)?)))
    }
}

impl System for Keyed {
    fn check(&self, key: &String) -> bool {
        self.0.check_key(key).is_ok()
    }
}

impl System for Cached {
    fn check(&self, key: &String) -> bool {
        self.0.check_key(key).is_ok()
    }
}

impl System for Direct {
    fn check(&self, _: &String) -> bool {
        self.0.check().is_ok()
    }
}
