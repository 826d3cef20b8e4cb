//! Where the server keeps what it counts.

use std::sync::Arc;

use tokio::runtime;
use tollgate::MemoryStore;
use tollgate_redis::RedisStore;
use tollgate_server::{ServerBuilder, StoreConfig};

/// The server, with its store.
pub(super) fn put(server: ServerBuilder, config: &StoreConfig) -> anyhow::Result<ServerBuilder> {
    if config.is_remote() {
        return Ok(server.store(far(config)?));
    }
    let mut store = MemoryStore::builder().when_full(config.when_full);
    if let Some(most) = config.max_keys {
        store = store.max_keys(most.get());
    }
    Ok(server.memory(store.build()?))
}

/// A store somewhere else, if somebody is there.
fn far(config: &StoreConfig) -> anyhow::Result<Arc<RedisStore>> {
    let mut store = RedisStore::builder(&config.url);
    if let Some(prefix) = &config.prefix {
        store = store.prefix(prefix);
    }
    if let Some(timeout) = config.timeout {
        store = store.response_timeout(timeout);
    }
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(store.clone().connect())?;
    // That connection ends with its runtime: those that serve make their own.
    Ok(Arc::new(store.build()?))
}
