//! `MULTI`, `EXEC` and `DISCARD`: commands that are done when all of them are there. Some clients send
//! every pipeline so.

use super::commands;
use super::errors::{unknown, wrong_arity};
use super::parse::{Command, Commands};

/// What was sent since `MULTI`.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    bytes: Vec<u8>,
    commands: Commands,
    /// How many bytes all of it takes.
    held: usize,
    /// Whether something was wrong, so that none of it is done.
    spoiled: bool,
}

/// What becomes of a command that comes while others are queued.
pub(crate) enum Queued {
    /// It waits with the others.
    Waits,
    /// It is `EXEC`: they are done now.
    Exec,
    /// It is `DISCARD`: they are forgotten.
    Discard,
    /// It is not queued, but done at once: it ends the transaction in its own way.
    Now,
    /// It cannot be done, and this is why.
    Wrong(Vec<u8>),
}

impl Queue {
    /// Takes a command, unless more than so many bytes would wait.
    pub(crate) fn take(&mut self, command: &Command<'_>, most_bytes: usize) -> Queued {
        let name = command.word(0).unwrap_or_default().to_ascii_uppercase();
        match (name.as_slice(), commands::fits(command)) {
            (_, None) => self.spoil(unknown(command)),
            (_, Some(false)) => self.spoil(wrong_arity(command)),
            (b"EXEC", _) => Queued::Exec,
            (b"DISCARD", _) => Queued::Discard,
            (b"QUIT" | b"RESET", _) => Queued::Now,
            (b"MULTI", _) => Queued::Wrong(b"ERR MULTI calls can not be nested".to_vec()),
            // Answers to what waits cannot be left out: there is one list of them.
            (b"CLIENT", _) if is_reply(command) => {
                self.spoil(b"ERR CLIENT REPLY is not for transactions".to_vec())
            }
            // None of it will be done.
            _ if self.spoiled => Queued::Waits,
            _ if self.held + command.held() > most_bytes => {
                self.spoil(b"ERR too many bytes in one transaction".to_vec())
            }
            _ => {
                self.held += command.held();
                self.commands.push(command, &mut self.bytes);
                Queued::Waits
            }
        }
    }

    /// One command cannot be done, and so neither can the others.
    fn spoil(&mut self, wrong: Vec<u8>) -> Queued {
        *self = Queue { spoiled: true, ..Queue::default() };
        Queued::Wrong(wrong)
    }

    pub(crate) fn is_spoiled(&self) -> bool {
        self.spoiled
    }

    pub(crate) fn len(&self) -> usize {
        self.commands.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Command<'_>> {
        self.commands.iter(&self.bytes)
    }
}

fn is_reply(command: &Command<'_>) -> bool {
    command.word(1).is_some_and(|word| word.eq_ignore_ascii_case(b"REPLY"))
}
