//! One server: a connection that is opened when it is needed, and discarded when it breaks.
//!
//! A command that was sent and got no reply is never sent again: it is not known whether it was done, and
//! doing it twice would count twice.
//!
//! A caller may give up at any time, as one that has less patience than the response timeout. Connecting goes on
//! without it, and whether the connection it waited for still replies is found out in the background: otherwise
//! impatient callers would never get a connection, or never leave one that is dead.
//!
//! A connection is pinged once a second, so that one that the server has closed is discarded before an operation
//! fails on it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use redis::aio::{ConnectionLike as _, MultiplexedConnection};
use redis::sentinel::SentinelClient;
use redis::{AsyncConnectionConfig, Client, Cmd, Pipeline, RedisError, ServerErrorKind, Value};
use tokio::runtime::Handle;
use tokio::sync::Mutex;

/// For how long after a failed attempt to connect further callers get the same error.
const RECONNECT_PAUSE: Duration = Duration::from_millis(50);

/// How often it is found out whether a connection still replies.
const PING_INTERVAL: Duration = Duration::from_secs(1);

/// How a connection is opened.
pub(crate) enum Connector {
    /// To an address.
    Address(Box<Client>),
    /// To the primary that the sentinels name.
    Sentinel(Box<Mutex<SentinelClient>>),
    /// Not at all: the address of the node cannot be reached with the settings of the seeds.
    Invalid,
}

pub(crate) struct Node {
    connector: Connector,
    config: AsyncConnectionConfig,
    /// How long connecting may take in all, sentinels included.
    connect_timeout: Duration,
    live: RwLock<Option<Live>>,
    /// Number of connections that were opened.
    opened: AtomicU64,
    /// Locked while connecting; when that failed last, and why.
    last_failure: Mutex<Option<(Instant, RedisError)>>,
    /// Whether it is being found out if the connection still replies.
    is_verifying: AtomicBool,
}

/// A connection in use.
#[derive(Clone)]
pub(crate) struct Live {
    connection: MultiplexedConnection,
    /// Tells a connection from earlier ones.
    number: u64,
}

/// What became of a pipeline.
pub(crate) enum PipelineResult {
    /// It was sent: the reply of the server to each command, or the error of the connection.
    Replies(Vec<Result<Value, RedisError>>),
    /// It was not sent, since there is no connection. Nothing was done.
    NotSent(RedisError),
}

impl Node {
    pub(crate) fn new(
        connector: Connector,
        config: AsyncConnectionConfig,
        connect_timeout: Duration,
    ) -> Node {
        Node {
            connector,
            config,
            connect_timeout,
            live: RwLock::new(None),
            opened: AtomicU64::new(0),
            last_failure: Mutex::new(None),
            is_verifying: AtomicBool::new(false),
        }
    }

    /// Runs commands in their order; if they are few, with no other commands in between.
    pub(crate) async fn run(self: &Arc<Node>, commands: Vec<Cmd>) -> PipelineResult {
        let mut live = match self.live().await {
            Ok(live) => live,
            Err(error) => return PipelineResult::NotSent(error),
        };
        let waiting = Waiting(self);
        let replies = run(&mut live.connection, commands).await;
        waiting.end();
        if replies.iter().any(|reply| reply.as_ref().is_err_and(is_broken)) {
            self.discard(live.number);
        }
        PipelineResult::Replies(replies)
    }

    /// Runs one command.
    pub(crate) async fn run_one(self: &Arc<Node>, command: &Cmd) -> Result<Value, RedisError> {
        let mut live = self.live().await?;
        self.run_on(&mut live, command).await
    }

    /// Runs one command on this connection.
    pub(crate) async fn run_on(
        self: &Arc<Node>,
        live: &mut Live,
        command: &Cmd,
    ) -> Result<Value, RedisError> {
        let waiting = Waiting(self);
        let reply = live.connection.req_packed_command(command).await;
        waiting.end();
        let reply = reply.and_then(Value::extract_error);
        if reply.as_ref().is_err_and(is_broken) {
            self.discard(live.number);
        }
        reply
    }

    /// Returns the connection; opens one if there is none.
    pub(crate) async fn live(self: &Arc<Node>) -> Result<Live, RedisError> {
        if let Some(live) = self.current() {
            return Ok(live);
        }
        let node = Arc::clone(self);
        let connected = tokio::spawn(async move { node.reconnect().await }).await;
        connected.unwrap_or_else(|_| Err(runtime_stopped()))
    }

    /// Finds out whether the connection still replies, and discards it if it does not within the response
    /// timeout.
    #[cold]
    fn verify(self: &Arc<Node>) {
        let (Ok(runtime), Some(mut live)) = (Handle::try_current(), self.current()) else { return };
        if self.is_verifying.swap(true, Ordering::AcqRel) {
            return;
        }
        let verifying = Verifying(Arc::clone(self));
        runtime.spawn(async move {
            let reply = live.connection.req_packed_command(&redis::cmd("PING")).await;
            if reply.is_err_and(|error| is_broken(&error)) {
                verifying.0.discard(live.number);
            }
        });
    }

    /// Keeps finding out whether this connection still replies, as long as it is in use.
    async fn keep_verifying(node: Weak<Node>, number: u64) {
        loop {
            tokio::time::sleep(PING_INTERVAL).await;
            match node.upgrade() {
                Some(node) if node.current().is_some_and(|live| live.number == number) => {
                    node.verify();
                }
                _ => return,
            }
        }
    }

    async fn reconnect(self: &Arc<Node>) -> Result<Live, RedisError> {
        let mut last_failure = self.last_failure.lock().await;
        if let Some(live) = self.current() {
            return Ok(live);
        }
        if let Some((when, error)) = &*last_failure
            && when.elapsed() < RECONNECT_PAUSE
        {
            return Err(error.clone());
        }
        let timed_out = RedisError::from((redis::ErrorKind::Io, "connecting timed out"));
        let connected = tokio::time::timeout(self.connect_timeout, self.connect()).await;
        match connected.unwrap_or(Err(timed_out)) {
            Ok(connection) => {
                let live = self.replace(connection);
                tokio::spawn(Node::keep_verifying(Arc::downgrade(self), live.number));
                Ok(live)
            }
            Err(error) => {
                *last_failure = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }

    fn current(&self) -> Option<Live> {
        self.live.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn replace(&self, connection: MultiplexedConnection) -> Live {
        let live = Live { connection, number: self.opened.fetch_add(1, Ordering::Relaxed) };
        *self.live.write().unwrap_or_else(PoisonError::into_inner) = Some(live.clone());
        live
    }

    /// Discards a connection if it is still the one in use.
    fn discard(&self, number: u64) {
        let mut live = self.live.write().unwrap_or_else(PoisonError::into_inner);
        if live.as_ref().is_some_and(|live| live.number == number) {
            *live = None;
        }
    }

    async fn connect(&self) -> Result<MultiplexedConnection, RedisError> {
        match &self.connector {
            Connector::Address(client) => {
                client.get_multiplexed_async_connection_with_config(&self.config).await
            }
            Connector::Sentinel(sentinels) => {
                sentinels.lock().await.get_async_connection_with_config(&self.config).await
            }
            Connector::Invalid => {
                let what = "the address of a node does not fit the URL of the cluster";
                Err((redis::ErrorKind::InvalidClientConfig, what).into())
            }
        }
    }
}

/// A caller that waits for a reply.
struct Waiting<'n>(&'n Arc<Node>);

impl Waiting<'_> {
    /// Notes that the reply has arrived, or the error.
    fn end(self) {
        std::mem::forget(self);
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.verify();
    }
}

/// While it exists, no other task finds out whether the connection still replies.
struct Verifying(Arc<Node>);

impl Drop for Verifying {
    fn drop(&mut self) {
        self.0.is_verifying.store(false, Ordering::Release);
    }
}

async fn run(
    connection: &mut MultiplexedConnection,
    commands: Vec<Cmd>,
) -> Vec<Result<Value, RedisError>> {
    let count = commands.len();
    let mut pipeline = Pipeline::with_capacity(count);
    pipeline.ignore_errors();
    for command in commands {
        pipeline.add_command(command);
    }
    match connection.req_packed_commands(&pipeline, 0, count).await {
        Ok(values) => values.into_iter().map(Value::extract_error).collect(),
        Err(error) => vec![Err(error); count],
    }
}

/// Returns the error of a task that ended before it was done.
pub(crate) fn runtime_stopped() -> RedisError {
    RedisError::from((redis::ErrorKind::Io, "the runtime of the connection has stopped"))
}

/// Whether a new connection may do better: this one is broken, or leads to a server that was demoted.
fn is_broken(error: &RedisError) -> bool {
    error.is_io_error()
        || error.is_connection_dropped()
        || error.is_timeout()
        || has_kind(error, ServerErrorKind::ReadOnly)
        || has_kind(error, ServerErrorKind::MasterDown)
}

/// Whether an error is this one of the server's.
pub(crate) fn has_kind(error: &RedisError, kind: ServerErrorKind) -> bool {
    error.kind() == redis::ErrorKind::Server(kind)
}
