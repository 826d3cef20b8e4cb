//! trypema's hybrid `absolute` limiter, with its defaults.

use std::sync::Arc;

use redis::Client;
use trypema::hybrid::HybridRateLimiterProvider;
use trypema::redis::RedisKey;
use trypema::{RateLimit, RateLimitDecision, RateLimiterBuilder, WindowSize};

use super::NodeLimiter;
use crate::distributed::shape::{Quota, Shape};

pub(super) struct Trypema {
    provider: Arc<HybridRateLimiterProvider>,
    rate: RateLimit,
}

impl Trypema {
    pub(super) async fn connect(url: &str, shape: &Shape) -> anyhow::Result<Trypema> {
        let Quota { checks, seconds, .. } = shape.quota;
        let connection = Client::open(url)?.get_connection_manager().await?;
        let provider = HybridRateLimiterProvider::builder(connection)
            .window_size(WindowSize::seconds(seconds.into())?)
            .build()?;
        let rate = RateLimit::per_second(f64::from(checks) / f64::from(seconds))?;
        Ok(Trypema { provider, rate })
    }
}

impl NodeLimiter for Trypema {
    type Key = RedisKey;

    /// Its keys have no colons.
    fn key(key: &str) -> anyhow::Result<RedisKey> {
        Ok(RedisKey::new(key.replace(':', "-"))?)
    }

    /// Without awaiting where it can, as its documentation advises for hot paths.
    async fn check(&self, key: &RedisKey) -> anyhow::Result<bool> {
        let limiter = self.provider.absolute();
        let decision = match limiter.try_inc(key.as_key_ref(), 1)? {
            Some(decision) => decision,
            None => limiter.inc(key, &self.rate, 1).await?,
        };
        Ok(matches!(decision, RateLimitDecision::Allowed))
    }
}
