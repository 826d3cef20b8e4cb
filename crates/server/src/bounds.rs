//! How much a stranger may send, and how much is kept for one who does not read.

use std::time::Duration;

/// The bounds on one connection of the Redis protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RespBounds {
    /// How many words a command may have.
    pub words: usize,
    /// How many bytes a word may have.
    pub word_bytes: usize,
    /// How many bytes a command may have in all.
    pub command_bytes: usize,
    /// How many bytes of commands may wait between `MULTI` and `EXEC`.
    pub transaction_bytes: usize,
    /// How many commands are decided in one call, before anyone else has a turn.
    pub pipeline: usize,
    /// How many bytes of answers may wait to be read before no more commands are taken.
    pub unread_bytes: usize,
    /// How long a client may leave its answers unread, or a command unfinished, before it is left.
    pub patience: Duration,
    /// How many connections there may be at once.
    pub connections: usize,
}

impl RespBounds {
    /// The same, but enough for something to happen at all.
    pub(crate) fn at_least_one(self) -> RespBounds {
        RespBounds {
            words: self.words.max(1),
            word_bytes: self.word_bytes.max(1),
            command_bytes: self.command_bytes.max(1),
            pipeline: self.pipeline.max(1),
            ..self
        }
    }
}

impl Default for RespBounds {
    fn default() -> RespBounds {
        RespBounds {
            words: 64,
            word_bytes: 4 * 1024,
            command_bytes: 64 * 1024,
            transaction_bytes: 1024 * 1024,
            pipeline: 1_024,
            unread_bytes: 1024 * 1024,
            patience: Duration::from_secs(10),
            connections: 10_000,
        }
    }
}
