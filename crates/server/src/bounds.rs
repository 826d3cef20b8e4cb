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
    /// How many commands are answered before the answers are sent.
    pub pipeline: usize,
    /// How many bytes of answers may wait to be read before no more commands are taken.
    pub unread_bytes: usize,
    /// How long a client may leave its answers unread before it is left.
    pub patience: Duration,
    /// How many connections there may be at once.
    pub connections: usize,
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
