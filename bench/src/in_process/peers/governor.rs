//! governor: GCRA in a sharded map, with its default clock and store; several of them, for several limits;
//! with a cached clock; and one bucket alone.

use std::num::NonZeroU32;

use anyhow::Context;
use governor::clock::{QuantaInstant, QuantaUpkeepClock};
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::DashMapStateStore;
use governor::{DefaultDirectRateLimiter, DefaultKeyedRateLimiter, Quota, RateLimiter};

use crate::in_process::limit::Limit;
use crate::in_process::system::{CLOCK_INTERVAL, System};

pub(crate) struct Keyed(DefaultKeyedRateLimiter<String>);

/// Two limits of one key: two maps, each asked.
pub(crate) struct Two([Keyed; 2]);

/// Limits of an address, of a user and of all: three maps, each asked.
pub(crate) struct Three {
    limiters: [Keyed; 3],
    ip: String,
    all: String,
}

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

impl Two {
    pub(crate) fn new(limit: &Limit) -> anyhow::Result<Two> {
        Ok(Two([Keyed::new(limit)?, Keyed::new(limit)?]))
    }
}

impl Three {
    pub(crate) fn new(limit: &Limit) -> anyhow::Result<Three> {
        let limiters = [Keyed::new(limit)?, Keyed::new(limit)?, Keyed::new(limit)?];
        Ok(Three { limiters, ip: "203.0.113.9".to_owned(), all: "all".to_owned() })
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

impl System for Two {
    fn check(&self, key: &String) -> bool {
        let [first, second] = &self.0;
        first.check(key) & second.check(key)
    }
}

impl System for Three {
    fn check(&self, key: &String) -> bool {
        let [of_ip, of_user, of_all] = &self.limiters;
        of_ip.check(&self.ip) & of_user.check(key) & of_all.check(&self.all)
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
