//! Connections to the store: one server, or the nodes of a cluster.

pub(crate) mod cluster;
pub(crate) mod command;
pub(crate) mod node;
pub(crate) mod target;

use std::sync::Arc;
use std::time::Instant;

use redis::{Cmd, RedisError, Value};
use tollgate_core::{Op, StoreError};

use crate::call::Call;
use crate::call::keys::Prefix;
use crate::connection::cluster::{Cluster, positions_by_slot};
use crate::connection::command::{command, is_unknown_script, reply_bytes, send_script};
use crate::connection::node::{Node, PipelineResult};

pub(crate) enum Connection {
    /// One server, or the primary that sentinels know.
    Single(Arc<Node>),
    Cluster(Arc<Cluster>),
}

impl Connection {
    /// Checks that the server, or a node of the cluster, replies.
    pub(crate) async fn ping(&self) -> Result<(), RedisError> {
        match self {
            Connection::Single(node) => node.run_one(&redis::cmd("PING")).await.map(|_| ()),
            Connection::Cluster(cluster) => cluster.refresh_slots(Instant::now()).await,
        }
    }

    /// Returns all servers that hold keys.
    pub(crate) async fn nodes(&self) -> Result<Vec<Arc<Node>>, RedisError> {
        match self {
            Connection::Single(node) => Ok(vec![Arc::clone(node)]),
            Connection::Cluster(cluster) => cluster.primaries().await,
        }
    }

    /// Returns the positions of an operation's limits, by the slot they live in. One server counts as one
    /// slot.
    pub(crate) fn positions_by_slot(&self, op: &Op<'_>, prefix: &Prefix) -> Vec<Vec<usize>> {
        match self {
            Connection::Single(_) => vec![(0..op.items.len()).collect()],
            Connection::Cluster(_) => positions_by_slot(op, prefix),
        }
    }

    /// Sends all calls, those of one slot in their order.
    pub(crate) async fn send(&self, calls: &[Call]) -> Vec<Result<Vec<u8>, StoreError>> {
        match self {
            Connection::Single(node) => send_to_single(node, calls).await,
            Connection::Cluster(cluster) => cluster.send(calls).await,
        }
    }
}

/// Sends one call; with the whole script if the server does not know it.
pub(crate) async fn send_one(node: &Arc<Node>, call: &Call) -> Result<Vec<u8>, StoreError> {
    // Without a connection nothing is sent.
    let mut live = node.live().await.map_err(StoreError::refused)?;
    let reply = match node.run_on(&mut live, &command(call, false)).await {
        Err(error) if is_unknown_script(&error) => {
            node.run_on(&mut live, &command(call, true)).await
        }
        reply => reply,
    };
    reply_bytes(reply)
}

/// Sends all calls in one pipeline; those whose script the server does not know again, with the whole
/// script.
async fn send_to_single(node: &Arc<Node>, calls: &[Call]) -> Vec<Result<Vec<u8>, StoreError>> {
    let commands = calls.iter().zip(send_script(calls.iter()));
    let commands = commands.map(|(call, with_script)| command(call, with_script)).collect();
    let mut replies = match node.run(commands).await {
        PipelineResult::Replies(replies) => replies,
        PipelineResult::NotSent(error) => {
            return vec![Err(StoreError::refused(error)); calls.len()];
        }
    };
    let unknown = |reply: &Result<Value, RedisError>| reply.as_ref().is_err_and(is_unknown_script);
    let (indexes, commands): (Vec<usize>, Vec<Cmd>) = replies
        .iter()
        .zip(calls)
        .enumerate()
        .filter(|(_, (reply, _))| unknown(reply))
        .map(|(index, (_, call))| (index, command(call, true)))
        .unzip();
    if !commands.is_empty() {
        for (index, reply) in indexes.into_iter().zip(run(node, commands).await) {
            if let Some(out) = replies.get_mut(index) {
                *out = reply;
            }
        }
    }
    replies.into_iter().map(reply_bytes).collect()
}

async fn run(node: &Arc<Node>, commands: Vec<Cmd>) -> Vec<Result<Value, RedisError>> {
    let count = commands.len();
    match node.run(commands).await {
        PipelineResult::Replies(replies) => replies,
        PipelineResult::NotSent(error) => vec![Err(error); count],
    }
}
