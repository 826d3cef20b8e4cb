//! What clients operation before and beside the operations they came for. Enough for today's clients with
//! their defaults.

use super::errors::{unknown, wrong_arity};
use super::parse::Command;
use super::reply::{Reply, Version};
use super::transaction::{Queue, Queued};
use super::{commands, hello, info};

/// What is known of one connection.
#[derive(Debug)]
pub(crate) struct Session {
    pub(super) id: i64,
    pub(super) version: Version,
    pub(super) name: Vec<u8>,
    pub(super) replies: Replies,
    /// What waits since `MULTI`.
    queue: Option<Box<Queue>>,
    /// Whether it is closed once all answers are sent.
    pub(crate) leaving: bool,
}

/// Whether a client wants to be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Replies {
    On,
    Off,
    /// Not the next time,
    SkipNext,
    /// which is now.
    Skip,
}

impl Session {
    pub(crate) fn new(id: u64) -> Session {
        Session {
            id: i64::try_from(id).unwrap_or(i64::MAX),
            version: Version::Two,
            name: Vec::new(),
            replies: Replies::On,
            queue: None,
            leaving: false,
        }
    }

    pub(crate) fn version(&self) -> Version {
        self.version
    }

    /// Whether the command that was just read is to be answered.
    pub(crate) fn is_answered(&mut self) -> bool {
        let (answered, next) = match self.replies {
            Replies::On => (true, Replies::On),
            Replies::Off => (false, Replies::Off),
            Replies::SkipNext => (false, Replies::Skip),
            Replies::Skip => (false, Replies::On),
        };
        self.replies = next;
        answered
    }

    /// Has a command wait, if others do: `None` if it is to be done now. With `EXEC` it is what has
    /// waited that is to be done.
    pub(crate) fn queue(
        &mut self,
        command: &Command<'_>,
        most_bytes: usize,
    ) -> Option<Result<Box<Queue>, Vec<u8>>> {
        let queued = self.queue.as_mut()?.take(command, most_bytes);
        let mut out = Vec::new();
        let mut reply = Reply::new(&mut out, self.version);
        match queued {
            Queued::Waits => reply.simple("QUEUED"),
            Queued::Exec => match self.queue.take().filter(|queue| !queue.is_spoiled()) {
                Some(queue) => return Some(Ok(queue)),
                None => reply.error(ABORTED),
            },
            Queued::Discard => {
                self.queue = None;
                reply.simple("OK");
            }
            Queued::Now => return None,
            Queued::Wrong(why) => reply.error(&why),
        }
        Some(Err(out))
    }

    /// Answers a command that is no operation.
    pub(crate) fn answer(&mut self, command: &Command<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        let name = command.word(0).unwrap_or_default().to_ascii_uppercase();
        let mut reply = Reply::new(&mut out, self.version);
        match (name.as_slice(), command.len()) {
            (b"PING", 1) => reply.simple("PONG"),
            (b"PING" | b"ECHO", 2) => reply.bulk(command.word(1).unwrap_or_default()),
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
            (b"COMMAND", _) => commands::answer(command, &mut reply),
            (b"CONFIG", 2..) => info::config(command, &mut reply),
            (b"INFO", _) => reply.text(&info::info(command)),
            (b"CLUSTER", 2..) => reply.error(b"ERR This instance has cluster support disabled"),
            (b"QUIT", _) => {
                self.leaving = true;
                reply.simple("OK");
            }
            (b"RESET", 1) => {
                *self = Session::new(self.id.unsigned_abs());
                Reply::new(&mut out, self.version).simple("RESET");
            }
            _ if commands::fits(command).is_some() => reply.error(&wrong_arity(command)),
            _ => reply.error(&unknown(command)),
        }
        out
    }
}

/// What is said of a transaction that was spoiled.
const ABORTED: &[u8] = b"EXECABORT Transaction discarded because of previous errors.";

/// There is one database.
fn select(command: &Command<'_>, reply: &mut Reply<'_>) {
    match std::str::from_utf8(command.word(1).unwrap_or_default()).map(str::parse::<i64>) {
        Ok(Ok(0)) => reply.simple("OK"),
        Ok(Ok(_)) => reply.error(b"ERR DB index is out of range"),
        _ => reply.error(b"ERR value is not an integer or out of range"),
    }
}

/// The longest name a client may give itself.
const MAX_NAME_BYTES: usize = 64;

/// What a client may call itself.
pub(super) fn valid_name(name: &[u8]) -> Result<Vec<u8>, Vec<u8>> {
    if name.len() > MAX_NAME_BYTES {
        return Err(format!("ERR a client name has at most {MAX_NAME_BYTES} bytes").into_bytes());
    }
    let odd = "ERR Client names cannot contain spaces, newlines or special characters.";
    if name.iter().all(u8::is_ascii_graphic) { Ok(name.to_vec()) } else { Err(odd.into()) }
}
