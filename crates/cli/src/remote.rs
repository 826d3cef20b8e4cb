//! A Redis store for one simulation, with a key prefix of its own that is deleted at the end.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use anyhow::Context;
use tokio::runtime::{Builder, Runtime};
use tollgate_core::{Decision, Op, StoreError, Time};
use tollgate_redis::RedisStore;

/// Exit code that shells expect after SIGINT.
const INTERRUPTED: i32 = 130;

pub(crate) struct RemoteStore {
    runtime: Runtime,
    store: Arc<RedisStore>,
}

impl RemoteStore {
    /// Connects to the store. From now on Ctrl-C deletes the keys before it ends the program.
    pub(crate) fn connect(url: &str) -> anyhow::Result<RemoteStore> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let prefix = format!("tg-run-{:016x}", RandomState::new().hash_one(url));
        let store = runtime.block_on(RedisStore::builder(url).prefix(&prefix).connect())?;
        let store = Arc::new(store);
        runtime.spawn(clear_when_interrupted(Arc::clone(&store)));
        Ok(RemoteStore { runtime, store })
    }

    pub(crate) fn decide(&self, op: &Op<'_>, at: Time) -> Result<Decision, StoreError> {
        self.runtime.block_on(self.store.apply_one(op, Some(at)))
    }

    /// Deletes all keys of this run. They would expire, but later.
    pub(crate) fn clear(&self) -> anyhow::Result<()> {
        self.runtime.block_on(self.store.clear()).context("cannot delete the keys of this run")
    }
}

async fn clear_when_interrupted(store: Arc<RedisStore>) {
    if tokio::signal::ctrl_c().await.is_ok() {
        // The program must end even if the store is gone.
        let _ = store.clear().await;
        std::process::exit(INTERRUPTED);
    }
}
