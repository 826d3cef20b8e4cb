//! The store of the server.

use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use tokio::runtime;
use tollgate::MemoryStore;
use tollgate::layers::Layers;
use tollgate_redis::{RedisStore, RedisStoreBuilder};
use tollgate_server::{ServerBuilder, StoreConfig};

use crate::file;

/// Minimum and maximum number of bytes of the file with the secret for hashes. Less can be guessed.
const HASH_KEY_BYTES: (usize, usize) = (16, 4096);

/// Adds the store of the config to the server. Returns it with the reason why the store is unavailable, if it
/// is: the server starts all the same.
///
/// # Errors
/// Fails if the URL is invalid, or a file cannot be used.
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
    if let Some(max_memory) = config.max_memory {
        store = store.max_memory(max_memory);
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
    if let Some(path) = &config.hash_key_file {
        redis = redis.hash_key(&hash_key(path)?);
    }
    let store = Arc::new(redis.clone().build()?);
    let server = server.layered(layers.around(store));
    Ok(match unavailable(redis)? {
        Some(cause) => (server.store_unavailable(cause.clone()), Some(cause)),
        None => (server, None),
    })
}

/// Reads the secret for hashes. A line break at the end is not part of it, since editors add one.
fn hash_key(path: &Path) -> anyhow::Result<Vec<u8>> {
    let name = path.display();
    let mut key = file::read_bytes(path)
        .with_context(|| format!("cannot read store.hash_key_file {name}"))?;
    while key.pop_if(|last| matches!(last, b'\r' | b'\n')).is_some() {}
    let (min, max) = HASH_KEY_BYTES;
    let found = key.len();
    ensure!(
        (min..=max).contains(&found),
        "store.hash_key_file {name} has {found} bytes; expected {min} to {max}, \
         such as from: openssl rand -hex 32"
    );
    Ok(key)
}

/// Returns why the store cannot be reached, if so. The connection ends with its runtime; the workers open
/// their own.
fn unavailable(store: RedisStoreBuilder) -> anyhow::Result<Option<String>> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let Err(error) = runtime.block_on(store.connect()) else { return Ok(None) };
    let error = anyhow::Error::new(error);
    Ok(Some(error.root_cause().to_string()))
}
