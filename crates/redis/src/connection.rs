//! The way to the store: one server, or the nodes of a cluster.

pub(crate) mod cluster;
pub(crate) mod node;
pub(crate) mod target;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use redis::{Cmd, RedisError, ServerErrorKind, Value};
use tollgate_core::{Op, StoreError};

use crate::call::Call;
use crate::call::keys::Prefix;
use crate::connection::cluster::Cluster;
use crate::connection::node::{Node, Sent, is};

pub(crate) enum Connection {
    One(Arc<Node>),
    Cluster(Box<Cluster>),
}

impl Connection {
    /// Makes sure that somebody is there.
    pub(crate) async fn ping(&self) -> Result<(), RedisError> {
        match self {
            Connection::One(node) => node.run_one(&redis::cmd("PING")).await.map(|_| ()),
            Connection::Cluster(cluster) => cluster.refresh_slots(Instant::now()).await,
        }
    }

    /// All servers that hold keys.
    pub(crate) async fn nodes(&self) -> Result<Vec<Arc<Node>>, RedisError> {
        match self {
            Connection::One(node) => Ok(vec![Arc::clone(node)]),
            Connection::Cluster(cluster) => cluster.primaries().await,
        }
    }

    /// The positions of an operation's limits, by the place where they are counted.
    pub(crate) fn places(&self, op: &Op<'_>, prefix: &Prefix) -> Vec<Vec<usize>> {
        match self {
            Connection::One(_) => vec![(0..op.items.len()).collect()],
            Connection::Cluster(_) => cluster::places(op, prefix),
        }
    }

    /// Does all calls, those of one place in their order.
    pub(crate) async fn send(&self, calls: &[Call]) -> Vec<Result<Vec<u8>, StoreError>> {
        match self {
            Connection::One(node) => send_to_one(node, calls).await,
            Connection::Cluster(cluster) => cluster.send(calls).await,
        }
    }
}

/// Sends one call; in full, if the server does not know it yet.
pub(crate) async fn send_one(node: &Node, call: &Call) -> Result<Vec<u8>, StoreError> {
    let answer = match node.run_one(&command(call, false)).await {
        Err(error) if is_unknown(&error) => node.run_one(&command(call, true)).await,
        answer => answer,
    };
    bytes_of(answer)
}

/// Sends everything at once; what the server does not know yet is sent again in full.
async fn send_to_one(node: &Node, calls: &[Call]) -> Vec<Result<Vec<u8>, StoreError>> {
    let commands = calls.iter().zip(in_full(calls.iter()));
    let mut answers = run(node, commands.map(|(call, whole)| command(call, whole)).collect()).await;
    let unknown = |answer: &Result<Value, RedisError>| answer.as_ref().is_err_and(is_unknown);
    let (places, whole): (Vec<usize>, Vec<Cmd>) = answers
        .iter()
        .zip(calls)
        .enumerate()
        .filter(|(_, (answer, _))| unknown(answer))
        .map(|(place, (_, call))| (place, command(call, true)))
        .unzip();
    if !whole.is_empty() {
        for (place, answer) in places.into_iter().zip(run(node, whole).await) {
            if let Some(out) = answers.get_mut(place) {
                *out = answer;
            }
        }
    }
    answers.into_iter().map(bytes_of).collect()
}

async fn run(node: &Node, commands: Vec<Cmd>) -> Vec<Result<Value, RedisError>> {
    let count = commands.len();
    match node.run(commands).await {
        Sent::Apply(answers) => answers,
        Sent::Unsent(error) => vec![Err(error); count],
    }
}

/// Which of the calls of one pipeline are sent with the whole script.
///
/// None, if each has keys of its own: whatever the server does not know is sent again. But calls on one
/// key must happen in their order, so that none may be done while one before it was not known. Then
/// the script comes in full where it comes first; and if there are several scripts, always, since
/// they may be flushed in between.
pub(crate) fn in_full<'c>(calls: impl Iterator<Item = &'c Call> + Clone) -> Vec<bool> {
    let mut keys = HashSet::new();
    let repeated = !calls.clone().all(|call| call.keys.iter().all(|key| keys.insert(key)));
    let scripts: HashSet<&str> = calls.clone().map(|call| call.script.sha.as_str()).collect();
    let several = scripts.len() > 1;
    calls.enumerate().map(|(place, _)| repeated && (several || place == 0)).collect()
}

/// What a command has beside script, keys and argument.
const COMMAND_BYTES: usize = 16;

/// The command of a call; the whole script, or only what it is known by.
pub(crate) fn command(call: &Call, whole: bool) -> Cmd {
    let (verb, script) =
        if whole { ("EVAL", &call.script.text) } else { ("EVALSHA", &call.script.sha) };
    let keys = call.keys.iter().map(Vec::len).sum::<usize>();
    let bytes = script.len() + keys + call.argument.len() + COMMAND_BYTES;
    let mut command = Cmd::with_capacity(call.keys.len() + 4, bytes);
    command.arg(verb).arg(script).arg(call.keys.len());
    for key in &call.keys {
        command.arg(key);
    }
    command.arg(&call.argument);
    command
}

/// Whether the server does not know the script: it was restarted, flushed, or failed over.
pub(crate) fn is_unknown(error: &RedisError) -> bool {
    is(error, ServerErrorKind::NoScript)
}

pub(crate) fn bytes_of(answer: Result<Value, RedisError>) -> Result<Vec<u8>, StoreError> {
    match answer {
        Ok(Value::BulkString(bytes)) => Ok(bytes),
        Ok(other) => Err(StoreError::unavailable(format!("the script answered {other:?}"))),
        Err(error) => Err(StoreError::unavailable(error)),
    }
}
