//! The state of a connection, and the commands that are not operations: enough for today's clients with
//! their default settings.

use super::errors::{unknown, wrong_arity};
use super::parse::Command;
use super::reply::{Reply, Version};
use super::transaction::{Queue, QueueResult};
use super::{commands, hello, info};

/// The state of one connection.
#[derive(Debug)]
pub(crate) struct Session {
    pub(super) id: i64,
    pub(super) version: Version,
    pub(super) name: Vec<u8>,
    pub(super) reply_mode: ReplyMode,
    /// The commands queued since `MULTI`, inside a transaction.
    queue: Option<Box<Queue>>,
    /// Whether the connection is closed once all replies are sent.
    pub(crate) closing: bool,
}

/// The mode set by `CLIENT REPLY`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyMode {
    On,
    Off,
    /// Skip the reply to `CLIENT REPLY SKIP` itself and to the next command.
    SkipNext,
    /// Skip the reply to the current command.
    Skip,
}

impl Session {
    pub(crate) fn new(id: u64) -> Session {
        Session {
            id: i64::try_from(id).unwrap_or(i64::MAX),
            version: Version::Two,
            name: Vec::new(),
            reply_mode: ReplyMode::On,
            queue: None,
            closing: false,
        }
    }

    pub(crate) fn version(&self) -> Version {
        self.version
    }

    /// Returns whether the current command gets a reply, and moves on to the next command.
    pub(crate) fn wants_reply(&mut self) -> bool {
        let (wants_reply, next) = match self.reply_mode {
            ReplyMode::On => (true, ReplyMode::On),
            ReplyMode::Off => (false, ReplyMode::Off),
            ReplyMode::SkipNext => (false, ReplyMode::Skip),
            ReplyMode::Skip => (false, ReplyMode::On),
        };
        self.reply_mode = next;
        wants_reply
    }

    /// Queues a command if there is an open transaction. Returns `None` if the command is to be executed
    /// now, `Ok` with the queued commands if it is `EXEC`, and else `Err` with the reply.
    pub(crate) fn queue(
        &mut self,
        command: &Command<'_>,
        max_bytes: usize,
    ) -> Option<Result<Box<Queue>, Vec<u8>>> {
        let queued = self.queue.as_mut()?.push(command, max_bytes);
        let mut out = Vec::new();
        let mut reply = Reply::new(&mut out, self.version);
        match queued {
            QueueResult::Queued => reply.simple("QUEUED"),
            QueueResult::Exec => match self.queue.take().filter(|queue| !queue.is_aborted()) {
                Some(queue) => return Some(Ok(queue)),
                None => reply.error(ABORTED),
            },
            QueueResult::Discard => {
                self.queue = None;
                reply.simple("OK");
            }
            QueueResult::Immediate => return None,
            QueueResult::Error(error) => reply.error(&error),
        }
        Some(Err(out))
    }

    /// Executes a command that is not an operation. Returns the reply.
    pub(crate) fn execute(&mut self, command: &Command<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        let name = command.arg(0).unwrap_or_default().to_ascii_uppercase();
        let mut reply = Reply::new(&mut out, self.version);
        match (name.as_slice(), command.len()) {
            (b"PING", 1) => reply.simple("PONG"),
            (b"PING" | b"ECHO", 2) => reply.bulk(command.arg(1).unwrap_or_default()),
            (b"HELLO", _) => self.hello(command, &mut out),
            (b"AUTH", 2..=3) => hello::auth(command, &mut reply),
            (b"CLIENT", 2..) => self.client(command, &mut out),
            (b"MULTI", 1) => {
                self.queue = Some(Box::default());
                reply.simple("OK");
            }
            (b"EXEC", 1) => reply.error(b"ERR EXEC without MULTI"),
            (b"DISCARD", 1) => reply.error(b"ERR DISCARD without MULTI"),
            (b"SELECT", 2) => select(command, &mut reply),
            (b"COMMAND", _) => commands::command(command, &mut reply),
            (b"CONFIG", 2..) => info::config(command, &mut reply),
            (b"INFO", _) => reply.text(&info::info(command)),
            (b"CLUSTER", 2..) => reply.error(b"ERR This instance has cluster support disabled"),
            (b"QUIT", _) => {
                self.closing = true;
                reply.simple("OK");
            }
            (b"RESET", 1) => {
                *self = Session::new(self.id.unsigned_abs());
                Reply::new(&mut out, self.version).simple("RESET");
            }
            _ if commands::is_arity_valid(command).is_some() => reply.error(&wrong_arity(command)),
            _ => reply.error(&unknown(command)),
        }
        out
    }
}

/// The reply to `EXEC` after a command was rejected.
const ABORTED: &[u8] = b"EXECABORT Transaction discarded because of previous errors.";

/// `SELECT index`. There is only database 0.
fn select(command: &Command<'_>, reply: &mut Reply<'_>) {
    match std::str::from_utf8(command.arg(1).unwrap_or_default()).map(str::parse::<i64>) {
        Ok(Ok(0)) => reply.simple("OK"),
        Ok(Ok(_)) => reply.error(b"ERR DB index is out of range"),
        _ => reply.error(b"ERR value is not an integer or out of range"),
    }
}

/// Maximum length of a client name.
const MAX_NAME_BYTES: usize = 64;

/// Checks a client name.
///
/// # Errors
/// Returns the error reply.
pub(super) fn valid_name(name: &[u8]) -> Result<Vec<u8>, Vec<u8>> {
    if name.len() > MAX_NAME_BYTES {
        return Err(format!("ERR client name is longer than {MAX_NAME_BYTES} bytes").into_bytes());
    }
    let error = "ERR Client names cannot contain spaces, newlines or special characters.";
    if name.iter().all(u8::is_ascii_graphic) { Ok(name.to_vec()) } else { Err(error.into()) }
}
