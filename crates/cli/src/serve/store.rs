//! The store of the server.

use std::sync::Arc;

use tokio::runtime;
use tollgate::MemoryStore;
use tollgate_redis::RedisStore;
use tollgate_server::{ServerBuilder, StoreConfig};

/// Adds the store of the config to the server.
pub(super) fn with_store(
    server: ServerBuilder,
    config: &StoreConfig,
) -> anyhow::Result<ServerBuilder> {
    if config.is_remote() {
        return Ok(server.store(redis(config)?));
    }
    let mut store = MemoryStore::builder().when_full(config.when_full);
    if let Some(max_keys) = config.max_keys {
        store = store.max_keys(max_keys.get());
    }
    Ok(server.memory(store.build()?))
}

/// Creates a Redis store. Fails if it cannot be reached.
fn redis(config: &StoreConfig) -> anyhow::Result<Arc<RedisStore>> {
    let mut store = RedisStore::builder(&config.url);
    if let Some(prefix) = &config.prefix {
        store = store.prefix(prefix);
    }
    if let Some(timeout) = config.timeout {
        store = store.response_timeout(timeout);
    }
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(store.clone().connect())?;
    // That connection ends with its runtime; the workers open their own.
    Ok(Arc::new(store.build()?))
}
