//! The store: operations become calls of a script, and its answers decisions.

use std::time::{SystemTime, UNIX_EPOCH};

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{Cmd, Pipeline, RedisError, Value};
use tollgate_core::{Answered, Decision, Op, Store, StoreError, Time};

use crate::call::{Call, When};
use crate::keys::Prefix;
use crate::reply::Reply;
use crate::script::Scripts;

/// How often a script may ask for other windows of the calendar: once for each limit and time is
/// enough, unless the store's clock jumps about.
const MOST_ASKS: usize = 64;

/// Limits over one Redis or Valkey.
pub struct RedisStore {
    connection: MultiplexedConnection,
    prefix: Prefix,
    scripts: Scripts,
}

impl RedisStore {
    /// Connects to `redis://host:port`.
    ///
    /// # Errors
    /// If that cannot be reached.
    pub async fn connect(url: &str) -> Result<RedisStore, RedisError> {
        let client = redis::Client::open(url)?;
        let connection = client.get_multiplexed_async_connection().await?;
        Ok(RedisStore { connection, prefix: Prefix::new("tg"), scripts: Scripts::default() })
    }

    async fn answer_all(
        &self,
        ops: &[Op<'_>],
        at: Option<Time>,
        out: &mut [Result<Decision, StoreError>],
    ) {
        let around = at.unwrap_or_else(own_time);
        let mut waiting: Vec<Asking<'_, '_>> = ops
            .iter()
            .zip(out.iter_mut())
            .map(|(op, out)| {
                let windows = vec![around; op.items.len()];
                Asking { op, out, when: When { at, windows } }
            })
            .collect();
        for _ in 0..MOST_ASKS {
            if waiting.is_empty() {
                return;
            }
            waiting = self.ask(waiting).await;
        }
        for asking in waiting {
            *asking.out = Err(StoreError::unavailable("the store's clock is never where it was"));
        }
    }

    /// Asks once for each, and answers those that must ask again.
    async fn ask<'o, 'x>(&self, waiting: Vec<Asking<'o, 'x>>) -> Vec<Asking<'o, 'x>> {
        let mut calls = Vec::with_capacity(waiting.len());
        let mut asking = Vec::with_capacity(waiting.len());
        for one in waiting {
            match Call::new(one.op, &one.when, &self.prefix, &self.scripts) {
                Ok(call) => {
                    calls.push(call);
                    asking.push(one);
                }
                Err(error) => *one.out = Err(error),
            }
        }
        let answers = self.send(&calls).await;
        let mut again = Vec::new();
        for ((mut one, call), answer) in asking.into_iter().zip(&calls).zip(answers) {
            match answer.and_then(|bytes| Reply::read(&bytes, &call.asked)) {
                Ok(Reply::Decided(decision)) => *one.out = Ok(decision),
                Ok(Reply::Overdrawn) => *one.out = Err(StoreError::overdrawn()),
                Ok(Reply::Again(around, position)) => {
                    if let Some(windows) = one.when.windows.get_mut(position) {
                        *windows = around;
                    }
                    again.push(one);
                }
                Err(error) => *one.out = Err(error),
            }
        }
        again
    }

    /// Sends all calls at once; what the server does not know yet is sent again in full.
    async fn send(&self, calls: &[Call]) -> Vec<Result<Vec<u8>, StoreError>> {
        let commands: Vec<Cmd> = calls.iter().map(|call| command(call, false)).collect();
        let mut answers = self.run(&commands).await;
        let missing: Vec<usize> =
            (0..answers.len()).filter(|i| answers.get(*i).is_some_and(is_unknown)).collect();
        if !missing.is_empty() {
            let whole = missing.iter().filter_map(|i| calls.get(*i));
            let whole: Vec<Cmd> = whole.map(|call| command(call, true)).collect();
            let again = self.run(&whole).await;
            for (place, answer) in missing.into_iter().zip(again) {
                if let Some(out) = answers.get_mut(place) {
                    *out = answer;
                }
            }
        }
        answers.into_iter().map(bytes_of).collect()
    }

    /// Runs commands in their order, and answers each.
    async fn run(&self, commands: &[Cmd]) -> Vec<Result<Value, RedisError>> {
        let mut connection = self.connection.clone();
        if let [command] = commands {
            let answer = connection.req_packed_command(command).await;
            return vec![answer.and_then(Value::extract_error)];
        }
        let mut pipeline = Pipeline::with_capacity(commands.len());
        pipeline.ignore_errors();
        for command in commands {
            pipeline.add_command(command.clone());
        }
        match connection.req_packed_commands(&pipeline, 0, commands.len()).await {
            Ok(values) => values.into_iter().map(Value::extract_error).collect(),
            Err(error) => commands.iter().map(|_| Err(error.clone())).collect(),
        }
    }
}

/// An operation that waits for its answer.
struct Asking<'o, 'x> {
    op: &'o Op<'o>,
    out: &'x mut Result<Decision, StoreError>,
    when: When,
}

fn command(call: &Call, whole: bool) -> Cmd {
    let mut command = Cmd::new();
    if whole {
        command.arg("EVAL").arg(&call.script.text);
    } else {
        command.arg("EVALSHA").arg(&call.script.sha);
    }
    command.arg(call.keys.len());
    for key in &call.keys {
        command.arg(key);
    }
    command.arg(&call.argument);
    command
}

fn is_unknown(answer: &Result<Value, RedisError>) -> bool {
    matches!(answer, Err(error) if error.code() == Some("NOSCRIPT"))
}

fn bytes_of(answer: Result<Value, RedisError>) -> Result<Vec<u8>, StoreError> {
    match answer {
        Ok(Value::BulkString(bytes)) => Ok(bytes),
        Ok(other) => Err(StoreError::unavailable(format!("the script answered {other:?}"))),
        Err(error) => Err(StoreError::unavailable(error)),
    }
}

/// Only for choosing which windows of the calendar to send along.
fn own_time() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).ok().and_then(Time::from_micros).unwrap_or(Time::MAX)
}

impl Store for RedisStore {
    fn apply<'a>(
        &'a self,
        ops: &'a [Op<'a>],
        at: Option<Time>,
        out: &'a mut [Result<Decision, StoreError>],
    ) -> Answered<'a> {
        Answered::Later(Box::pin(self.answer_all(ops, at, out)))
    }
}
