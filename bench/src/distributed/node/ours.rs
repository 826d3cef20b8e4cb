//! Our limiter over Redis, without layers or with those of one mode.

use std::sync::Arc;
use std::time::Duration;

use tollgate::layers::{Layers, OnFailure};
use tollgate::{AnyStore, Limiter};
use tollgate_redis::RedisStore;

use super::NodeLimiter;
use crate::distributed::shape::{Shape, StoreSpeed};
use crate::distributed::system::System;

/// Longer than any reply takes at full speed: a failure mode would change what is counted.
const TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct Ours(Limiter<AnyStore>);

impl Ours {
    pub(super) async fn connect(url: &str, shape: &Shape, system: System) -> anyhow::Result<Ours> {
        let Some(distribution) = system.distribution() else {
            let store = RedisStore::builder(url).response_timeout(TIMEOUT).connect().await?;
            return Ok(Ours(AnyStore::new(Arc::new(store)).limiter("bench", [shape.quota.line])?));
        };
        let layers = Layers::new().nodes(u32::try_from(shape.nodes)?);
        // A slow store is what the default timeout and failure mode are for.
        let (layers, on_failure) = match shape.store {
            StoreSpeed::Normal => (layers.timeout(TIMEOUT), OnFailure::Deny),
            StoreSpeed::Slow => (layers, OnFailure::default()),
        };
        let store = tollgate::open_with(url, layers).await?;
        let limiter = store.limiter("bench", [shape.quota.line])?;
        Ok(Ours(limiter.with_on_failure(on_failure).with_distribution(distribution)))
    }
}

impl NodeLimiter for Ours {
    type Key = String;

    fn key(key: &str) -> anyhow::Result<String> {
        Ok(key.to_owned())
    }

    async fn check(&self, key: &String) -> anyhow::Result<bool> {
        Ok(self.0.check(key).await?.allowed)
    }
}
