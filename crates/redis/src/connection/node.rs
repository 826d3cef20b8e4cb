//! One server: a connection that is made when it is needed, and given up when it breaks.
//!
//! A command that was sent and got no answer is never sent again: nobody knows whether it was done, and
//! doing it twice would count twice.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use redis::aio::{ConnectionLike as _, MultiplexedConnection};
use redis::sentinel::SentinelClient;
use redis::{AsyncConnectionConfig, Client, Cmd, Pipeline, RedisError, ServerErrorKind, Value};
use tokio::sync::Mutex;

/// Whoever asks so soon after a connection could not be made gets the same answer.
const PAUSE: Duration = Duration::from_millis(50);

/// How to get a connection.
pub(crate) enum Connector {
    /// At an address.
    At(Box<Client>),
    /// Wherever sentinels say the primary is.
    Behind(Box<Mutex<SentinelClient>>),
    /// There is none.
    Nowhere,
}

pub(crate) struct Node {
    connector: Connector,
    config: AsyncConnectionConfig,
    /// How long connecting may take in all, sentinels included.
    timeout: Duration,
    live: RwLock<Option<Live>>,
    /// How many connections were made.
    made: AtomicU64,
    /// Held by whoever is connecting; the last time that failed.
    connecting: Mutex<Option<(Instant, RedisError)>>,
}

#[derive(Clone)]
struct Live {
    connection: MultiplexedConnection,
    /// Tells a connection from those before it.
    number: u64,
}

/// What became of commands.
pub(crate) enum Sent {
    /// The server, or the way to it, answered each.
    Apply(Vec<Result<Value, RedisError>>),
    /// There is no connection, so that nothing was done.
    Unsent(RedisError),
}

impl Node {
    pub(crate) fn new(
        connector: Connector,
        config: AsyncConnectionConfig,
        timeout: Duration,
    ) -> Node {
        let (live, connecting) = (RwLock::new(None), Mutex::new(None));
        Node { connector, config, timeout, live, made: AtomicU64::new(0), connecting }
    }

    /// Runs commands, in their order and with nobody's in between if they are few.
    pub(crate) async fn run(&self, commands: Vec<Cmd>) -> Sent {
        let mut live = match self.live().await {
            Ok(live) => live,
            Err(error) => return Sent::Unsent(error),
        };
        let answers = run(&mut live.connection, commands).await;
        if answers.iter().any(|answer| answer.as_ref().is_err_and(is_broken)) {
            self.give_up(live.number);
        }
        Sent::Apply(answers)
    }

    /// Runs one command.
    pub(crate) async fn run_one(&self, command: &Cmd) -> Result<Value, RedisError> {
        let mut live = self.live().await?;
        let answer = live.connection.req_packed_command(command).await;
        let answer = answer.and_then(Value::extract_error);
        if answer.as_ref().is_err_and(is_broken) {
            self.give_up(live.number);
        }
        answer
    }

    async fn live(&self) -> Result<Live, RedisError> {
        match self.known() {
            Some(live) => Ok(live),
            // What connecting takes is large, and would be carried along by every call.
            None => Box::pin(self.new_live()).await,
        }
    }

    async fn new_live(&self) -> Result<Live, RedisError> {
        let mut failed = self.connecting.lock().await;
        if let Some(live) = self.known() {
            return Ok(live);
        }
        if let Some((when, error)) = &*failed
            && when.elapsed() < PAUSE
        {
            return Err(error.clone());
        }
        let late = RedisError::from((redis::ErrorKind::Io, "connecting took too long"));
        let connecting = tokio::time::timeout(self.timeout, self.connect()).await;
        match connecting.unwrap_or(Err(late)) {
            Ok(connection) => Ok(self.keep(connection)),
            Err(error) => {
                *failed = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }

    fn known(&self) -> Option<Live> {
        self.live.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn keep(&self, connection: MultiplexedConnection) -> Live {
        let live = Live { connection, number: self.made.fetch_add(1, Ordering::Relaxed) };
        *self.live.write().unwrap_or_else(PoisonError::into_inner) = Some(live.clone());
        live
    }

    /// Gives a connection up, if it is still the one in use.
    fn give_up(&self, number: u64) {
        let mut live = self.live.write().unwrap_or_else(PoisonError::into_inner);
        if live.as_ref().is_some_and(|live| live.number == number) {
            *live = None;
        }
    }

    async fn connect(&self) -> Result<MultiplexedConnection, RedisError> {
        match &self.connector {
            Connector::At(client) => {
                client.get_multiplexed_async_connection_with_config(&self.config).await
            }
            Connector::Behind(sentinels) => {
                sentinels.lock().await.get_async_connection_with_config(&self.config).await
            }
            Connector::Nowhere => {
                let what = "the address of a node cannot be reached as the first ones are";
                Err((redis::ErrorKind::InvalidClientConfig, what).into())
            }
        }
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

/// Whether another connection may do better: this one is gone, or leads to a server that was demoted.
fn is_broken(error: &RedisError) -> bool {
    error.is_io_error()
        || error.is_connection_dropped()
        || error.is_timeout()
        || is(error, ServerErrorKind::ReadOnly)
        || is(error, ServerErrorKind::MasterDown)
}

/// Whether it is this error of the server's.
pub(crate) fn is(error: &RedisError, kind: ServerErrorKind) -> bool {
    error.kind() == redis::ErrorKind::Server(kind)
}
