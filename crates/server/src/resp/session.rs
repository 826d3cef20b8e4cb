//! What clients ask before and beside the operations they came for: who is there, in which version,
//! under which name. Enough for today's clients with their defaults.

use super::parse::Command;
use super::reply::{Reply, Version};
use super::transaction::{Queue, Queued, Wrong};
use super::{about, commands};

/// What is known of one connection.
#[derive(Debug)]
pub(crate) struct Session {
    id: i64,
    version: Version,
    name: Vec<u8>,
    replies: Replies,
    /// What waits since `MULTI`.
    queue: Option<Box<Queue>>,
    /// Whether it asked to be closed.
    pub(crate) leaving: bool,
}

/// Whether a client wants to be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Replies {
    On,
    Off,
    /// Not the next time,
    SkipNext,
    /// which is now.
    Skip,
}

/// The longest name a client may give itself.
const MAX_NAME_BYTES: usize = 64;

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
            Queued::Exec => {
                let queue = self.queue.take().filter(|queue| !queue.is_spoiled());
                if let Some(queue) = queue {
                    return Some(Ok(queue));
                }
                reply.error(ABORTED);
            }
            Queued::Discard => {
                self.queue = None;
                reply.simple("OK");
            }
            Queued::Now => return None,
            Queued::Wrong(Wrong::Unknown) => reply.error(&unknown(command)),
            Queued::Wrong(Wrong::Nested) => reply.error(b"ERR MULTI calls can not be nested"),
            Queued::Wrong(Wrong::TooMuch) => reply.error(TOO_MUCH),
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
            (b"HELLO", _) => return self.hello(command),
            (b"AUTH", 2) => reply.error(NO_PASSWORD),
            (b"AUTH", 3) if command.word(1) == Some(USER) => reply.simple("OK"),
            (b"AUTH", 3) => reply.error(WRONG_PASSWORD),
            (b"MULTI", 1) => {
                self.queue = Some(Box::default());
                reply.simple("OK");
            }
            (b"EXEC", 1) => reply.error(b"ERR EXEC without MULTI"),
            (b"DISCARD", 1) => reply.error(b"ERR DISCARD without MULTI"),
            (b"SELECT", 2) => select(command, &mut reply),
            (b"CLIENT", 2..) => self.client(command, &mut out),
            (b"COMMAND", _) => commands::answer(command, &mut reply),
            (b"CONFIG", 3..) => about::config(command, &mut reply),
            (b"INFO", _) => reply.text(&about::info(command)),
            (b"CLUSTER", 2..) => reply.error(b"ERR This instance has cluster support disabled"),
            (b"QUIT", _) => {
                self.leaving = true;
                reply.simple("OK");
            }
            (b"RESET", 1) => {
                *self = Session::new(self.id.unsigned_abs());
                Reply::new(&mut out, self.version).simple("RESET");
            }
            (name, _) if commands::is_known(name) => reply.error(&wrong_arity(command)),
            _ => reply.error(&unknown(command)),
        }
        out
    }

    /// `HELLO [2|3 [AUTH user password] [SETNAME name]]`
    fn hello(&mut self, command: &Command<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        match self.agree(command) {
            Ok(()) => self.introduce(&mut Reply::new(&mut out, self.version)),
            Err(error) => Reply::new(&mut out, self.version).error(&error),
        }
        out
    }

    fn agree(&mut self, command: &Command<'_>) -> Result<(), Vec<u8>> {
        let version = match command.word(1) {
            None => self.version,
            Some(b"2") => Version::Two,
            Some(b"3") => Version::Three,
            Some(other) if other.iter().all(u8::is_ascii_digit) => {
                return Err(b"NOPROTO unsupported protocol version".to_vec());
            }
            Some(_) => {
                return Err(b"ERR Protocol version is not an integer or out of range".to_vec());
            }
        };
        let mut words = command.words_from(2);
        let mut name = None;
        while let Some(option) = words.next() {
            let mut value = || words.next().ok_or_else(|| bad_option(option));
            match option.to_ascii_uppercase().as_slice() {
                b"SETNAME" => name = Some(valid_name(value()?)?),
                // There are no passwords yet: the one user there is has any.
                b"AUTH" if value()? == USER => drop(value()?),
                b"AUTH" => return Err(WRONG_PASSWORD.to_vec()),
                _ => return Err(bad_option(option)),
            }
        }
        self.version = version;
        self.name = name.unwrap_or(std::mem::take(&mut self.name));
        Ok(())
    }

    fn introduce(&self, reply: &mut Reply<'_>) {
        reply.map(7);
        for (name, value) in [("server", "redis"), ("version", about::REDIS_VERSION)] {
            reply.bulk(name.as_bytes());
            reply.bulk(value.as_bytes());
        }
        reply.bulk(b"proto");
        reply.number(if self.version == Version::Three { 3 } else { 2 });
        reply.bulk(b"id");
        reply.number(self.id);
        for (name, value) in [("mode", "standalone"), ("role", "master")] {
            reply.bulk(name.as_bytes());
            reply.bulk(value.as_bytes());
        }
        reply.bulk(b"modules");
        reply.array(0);
    }

    fn client(&mut self, command: &Command<'_>, out: &mut Vec<u8>) {
        let mut reply = Reply::new(out, self.version);
        let what = command.word(1).unwrap_or_default().to_ascii_uppercase();
        let word = |place| command.word(place).unwrap_or_default();
        match (what.as_slice(), command.len()) {
            (b"SETNAME", 3) => match valid_name(word(2)) {
                Ok(name) => {
                    self.name = name;
                    reply.simple("OK");
                }
                Err(error) => reply.error(&error),
            },
            (b"GETNAME", 2) if self.name.is_empty() => reply.null(),
            (b"GETNAME", 2) => reply.bulk(&self.name),
            (b"ID", 2) => reply.number(self.id),
            (b"SETINFO", 4) => reply.simple("OK"),
            (b"NO-EVICT" | b"NO-TOUCH" | b"TRACKING", 3..) => on_or_off(&what, word(2), &mut reply),
            (b"INFO" | b"LIST", 2..) => reply.text(&self.describe()),
            (b"REPLY", 3) => self.reply(word(2), &mut reply),
            _ => reply.error(&unknown_subcommand("CLIENT", word(1))),
        }
    }

    fn describe(&self) -> String {
        let name = String::from_utf8_lossy(&self.name);
        let version = if self.version == Version::Three { 3 } else { 2 };
        format!("id={} name={name} db=0 resp={version}\n", self.id)
    }

    /// Only `ON` is answered itself.
    fn reply(&mut self, mode: &[u8], reply: &mut Reply<'_>) {
        match mode.to_ascii_uppercase().as_slice() {
            b"ON" => {
                self.replies = Replies::On;
                reply.simple("OK");
            }
            b"OFF" => self.replies = Replies::Off,
            b"SKIP" if self.replies == Replies::On => self.replies = Replies::SkipNext,
            b"SKIP" => {}
            _ => reply.error(b"ERR syntax error"),
        }
    }
}

/// What is said of a transaction that was spoiled.
const ABORTED: &[u8] = b"EXECABORT Transaction discarded because of previous errors.";
const TOO_MUCH: &[u8] = b"ERR too many bytes in one transaction";
/// The one user there is.
const USER: &[u8] = b"default";
const WRONG_PASSWORD: &[u8] = b"WRONGPASS invalid username-password pair or user is disabled.";
const NO_PASSWORD: &[u8] = b"ERR AUTH <password> called without any password configured for the \
default user. Are you sure your configuration is correct?";

/// There is one database.
fn select(command: &Command<'_>, reply: &mut Reply<'_>) {
    match std::str::from_utf8(command.word(1).unwrap_or_default()).map(str::parse::<i64>) {
        Ok(Ok(0)) => reply.simple("OK"),
        Ok(Ok(_)) => reply.error(b"ERR DB index is out of range"),
        _ => reply.error(b"ERR value is not an integer or out of range"),
    }
}

/// What some clients switch on for all servers. Nothing is ever evicted or touched; keys that change
/// are not told.
fn on_or_off(what: &[u8], mode: &[u8], reply: &mut Reply<'_>) {
    match mode.to_ascii_uppercase().as_slice() {
        b"OFF" => reply.simple("OK"),
        b"ON" if what != b"TRACKING" => reply.simple("OK"),
        b"ON" => reply.error(b"ERR client tracking is not supported"),
        _ => reply.error(b"ERR syntax error"),
    }
}

fn bad_option(option: &[u8]) -> Vec<u8> {
    let option = option.get(..MOST_TOLD).unwrap_or(option);
    [b"ERR Syntax error in HELLO option '", option, b"'"].concat()
}

fn valid_name(name: &[u8]) -> Result<Vec<u8>, Vec<u8>> {
    if name.len() > MAX_NAME_BYTES {
        return Err(format!("ERR a client name has at most {MAX_NAME_BYTES} bytes").into_bytes());
    }
    let odd = "ERR Client names cannot contain spaces, newlines or special characters.";
    if name.iter().all(u8::is_ascii_graphic) { Ok(name.to_vec()) } else { Err(odd.into()) }
}

fn wrong_arity(command: &Command<'_>) -> Vec<u8> {
    let name = command.word(0).unwrap_or_default().to_ascii_lowercase();
    [b"ERR wrong number of arguments for '", name.as_slice(), b"' command"].concat()
}

pub(super) fn unknown_subcommand(command: &str, what: &[u8]) -> Vec<u8> {
    let what = what.get(..MOST_TOLD).unwrap_or(what);
    [b"ERR unknown subcommand '", what, b"'. Try ", command.as_bytes(), b" HELP."].concat()
}

/// How many bytes of what was sent an error tells.
const MOST_TOLD: usize = 128;

fn unknown(command: &Command<'_>) -> Vec<u8> {
    let name = command.word(0).unwrap_or_default();
    let name = name.get(..MOST_TOLD).unwrap_or(name);
    let mut text = [b"ERR unknown command '", name, b"', with args beginning with: "].concat();
    let mut left = MOST_TOLD;
    for word in command.words_from(1) {
        let word = word.get(..left).unwrap_or(word);
        text.extend([b"'", word, b"' "].concat());
        left = left.saturating_sub(word.len());
        if left == 0 {
            break;
        }
    }
    text
}
