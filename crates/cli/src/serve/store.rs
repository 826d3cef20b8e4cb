//! The store of the server.

use std::num::NonZeroU32;
use std::sync::Arc;

use tokio::runtime;
use tollgate::MemoryStore;
use tollgate::layers::Layers;
use tollgate_redis::{RedisStore, RedisStoreBuilder};
use tollgate_server::{ServerBuilder, StoreConfig};

/// Adds the store of the config to the server. Returns it with the reason why the store is unavailable, if it
/// is: the server starts all the same.
///
/// # Errors
/// Fails if the URL is invalid, or a certificate cannot be loaded.
pub(super) fn with_store(
    server: ServerBuilder,
    config: &StoreConfig,
) -> anyhow::Result<(ServerBuilder, Option<String>)> {
    if config.is_remote() {
        return with_redis(server, config);
    }
    let mut store = MemoryStore::builder().when_full(config.when_full);
    if let Some(max_keys) = config.max_keys {
        store = store.max_keys(max_keys.get());
    }
    Ok((server.memory(store.build()?), None))
}

fn with_redis(
    server: ServerBuilder,
    config: &StoreConfig,
) -> anyhow::Result<(ServerBuilder, Option<String>)> {
    let layers = Layers::new()
        .timeout(config.timeout)
        .nodes(config.nodes.map_or(1, NonZeroU32::get))
        .max_memory(config.layer_memory);
    let mut redis = RedisStore::builder(&config.url).response_timeout(layers.response_timeout());
    if let Some(prefix) = &config.prefix {
        redis = redis.prefix(prefix);
    }
    let store = Arc::new(redis.clone().build()?);
    let server = server.layered(layers.around(store));
    Ok(match unavailable(redis)? {
        Some(cause) => (server.store_unavailable(cause.clone()), Some(cause)),
        None => (server, None),
    })
}

/// Returns why the store cannot be reached, if so. The connection ends with its runtime; the workers open
/// their own.
fn unavailable(store: RedisStoreBuilder) -> anyhow::Result<Option<String>> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let Err(error) = runtime.block_on(store.connect()) else { return Ok(None) };
    let error = anyhow::Error::new(error);
    Ok(Some(error.root_cause().to_string()))
}
