//! Deletes everything that is kept under the prefix.

use std::sync::Arc;

use redis::{RedisError, Value, cmd};
use tollgate_core::StoreError;

use crate::connection::node::{Node, PipelineResult};
use crate::store::RedisStore;

/// About how many keys one `SCAN` looks at.
const BATCH: usize = 1_000;

impl RedisStore {
    /// Deletes every key under the store's prefix, a batch at a time. Keys that are created meanwhile may
    /// remain.
    ///
    /// # Errors
    /// Fails if the store cannot be reached.
    pub async fn clear(&self) -> Result<(), StoreError> {
        let pattern = self.prefix.pattern();
        for node in self.connection.nodes().await.map_err(StoreError::unavailable)? {
            clear_node(&node, &pattern).await.map_err(StoreError::unavailable)?;
        }
        Ok(())
    }
}

async fn clear_node(node: &Arc<Node>, pattern: &str) -> Result<(), RedisError> {
    let mut cursor = b"0".to_vec();
    loop {
        let mut scan = cmd("SCAN");
        scan.arg(&cursor).arg("MATCH").arg(pattern).arg("COUNT").arg(BATCH);
        let (next, keys): (Vec<u8>, Vec<Vec<u8>>) =
            redis::from_redis_value(node.run_one(&scan).await?)?;
        let unlink = |key: Vec<u8>| {
            let mut unlink = cmd("UNLINK");
            unlink.arg(key);
            unlink
        };
        // One key per command: in a cluster they lie in different slots.
        if !keys.is_empty() {
            match node.run(keys.into_iter().map(unlink).collect()).await {
                PipelineResult::NotSent(error) => return Err(error),
                PipelineResult::Replies(replies) => {
                    replies.into_iter().try_for_each(ignore_redirect)?;
                }
            }
        }
        if next == b"0" {
            return Ok(());
        }
        cursor = next;
    }
}

/// A key whose slot has moved is deleted on the node it moved to, or expires.
fn ignore_redirect(reply: Result<Value, RedisError>) -> Result<(), RedisError> {
    match reply {
        Err(error) if error.redirect_node().is_none() => Err(error),
        _ => Ok(()),
    }
}
