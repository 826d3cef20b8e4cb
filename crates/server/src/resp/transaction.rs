//! `MULTI`, `EXEC` and `DISCARD`. Some clients send every pipeline as a transaction.

use super::commands;
use super::errors::{unknown, wrong_arity};
use super::parse::{Command, CommandBatch};

/// The commands queued since `MULTI`.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    bytes: Vec<u8>,
    commands: CommandBatch,
    /// Number of bytes that the queued commands take.
    queued_bytes: usize,
    /// Whether a command was invalid, so that `EXEC` fails.
    is_aborted: bool,
}

/// What to do with a command inside a transaction.
pub(crate) enum QueueResult {
    /// Reply `QUEUED`.
    Queued,
    /// Execute the queued commands.
    Exec,
    /// Discard the queued commands.
    Discard,
    /// Execute this command at once. It ends the transaction in its own way.
    Immediate,
    /// Reply with this error.
    Error(Vec<u8>),
}

impl Queue {
    /// Queues a command, unless the queue would take more than `max_bytes`.
    pub(crate) fn push(&mut self, command: &Command<'_>, max_bytes: usize) -> QueueResult {
        let name = command.arg(0).unwrap_or_default().to_ascii_uppercase();
        match (name.as_slice(), commands::is_arity_valid(command)) {
            (_, None) => self.abort(unknown(command)),
            (_, Some(false)) => self.abort(wrong_arity(command)),
            (b"EXEC", _) => QueueResult::Exec,
            (b"DISCARD", _) => QueueResult::Discard,
            (b"QUIT" | b"RESET", _) => QueueResult::Immediate,
            (b"MULTI", _) => QueueResult::Error(b"ERR MULTI calls can not be nested".to_vec()),
            // A reply within the array of replies to EXEC cannot be left out.
            (b"CLIENT", _) if is_client_reply(command) => {
                self.abort(b"ERR CLIENT REPLY is not allowed in transactions".to_vec())
            }
            // EXEC will fail, so there is no need to keep the command.
            _ if self.is_aborted => QueueResult::Queued,
            _ if self.queued_bytes + command.queued_bytes() > max_bytes => {
                let error = format!("ERR transaction is larger than {max_bytes} bytes");
                self.abort(error.into_bytes())
            }
            _ => {
                self.queued_bytes += command.queued_bytes();
                self.commands.push(command, &mut self.bytes);
                QueueResult::Queued
            }
        }
    }

    /// Drops all queued commands because of an invalid one.
    fn abort(&mut self, error: Vec<u8>) -> QueueResult {
        *self = Queue { is_aborted: true, ..Queue::default() };
        QueueResult::Error(error)
    }

    pub(crate) fn is_aborted(&self) -> bool {
        self.is_aborted
    }

    pub(crate) fn len(&self) -> usize {
        self.commands.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Command<'_>> {
        self.commands.iter(&self.bytes)
    }
}

fn is_client_reply(command: &Command<'_>) -> bool {
    command.arg(1).is_some_and(|arg| arg.eq_ignore_ascii_case(b"REPLY"))
}
