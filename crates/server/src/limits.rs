//! How much a stranger may send, and how much is kept for one who does not read.

use std::time::Duration;

/// The bounds of each protocol.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ConnectionLimits {
    pub(crate) resp: RespLimits,
    pub(crate) http: HttpLimits,
}

/// The bounds on one connection of the Redis protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RespLimits {
    /// How many words a command may have.
    pub args: usize,
    /// How many bytes a word may have.
    pub arg_bytes: usize,
    /// How many bytes a command may have in all.
    pub command_bytes: usize,
    /// How many bytes of commands may wait between `MULTI` and `EXEC`.
    pub transaction_bytes: usize,
    /// How many commands are decided in one call, before anyone else has a turn.
    pub pipeline: usize,
    /// How many bytes of answers may wait to be read before no more commands are taken.
    pub max_pending_bytes: usize,
    /// How long a client may leave its answers unread, or a command unfinished, before it is left.
    pub timeout: Duration,
    /// How many connections there may be at once.
    pub connections: usize,
    /// How many of them one peer may have: an address, or a network of IPv6 of 64 bits.
    pub peer_connections: usize,
}

/// The bounds on one connection of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpLimits {
    /// How many header fields a request may have.
    pub headers: usize,
    /// How many bytes its head may have: the request line and all header fields.
    pub head_bytes: usize,
    /// How many bytes its body may have.
    pub body_bytes: usize,
    /// How many checks a batch may have.
    pub batch: usize,
    /// How many requests are decided in one call, before anyone else has a turn.
    pub pipeline: usize,
    /// How many bytes of answers may wait to be read before no more requests are taken.
    pub max_pending_bytes: usize,
    /// How many requests may be under way at once on one connection of HTTP/2.
    pub streams: u32,
    /// How long a client may leave its answers unread, or a request unfinished, before it is left.
    pub timeout: Duration,
    /// How long a connection may be quiet between requests. It is left after twice this at most.
    pub idle: Duration,
    /// How many connections there may be at once.
    pub connections: usize,
    /// How many of them one peer may have: an address, or a network of IPv6 of 64 bits.
    pub peer_connections: usize,
}

impl HttpLimits {
    /// The same, but enough for something to happen at all.
    pub(crate) fn at_least_one(self) -> HttpLimits {
        HttpLimits {
            headers: self.headers.clamp(1, MAX_HEADERS),
            head_bytes: self.head_bytes.max(1),
            batch: self.batch.max(1),
            pipeline: self.pipeline.max(1),
            streams: self.streams.max(1),
            ..self
        }
    }

    /// How many bytes a request has at most, with what stands between the pieces of a body that comes in
    /// few of them.
    pub(crate) fn request_bytes(&self) -> usize {
        self.head_bytes.saturating_add(self.body_bytes).saturating_add(BETWEEN_PIECES)
    }
}

/// How many bytes there may be between the pieces of a body, if its head and itself are as long as they may
/// be.
const BETWEEN_PIECES: usize = 4 * 1024;

/// More header fields than this are never read.
pub(crate) const MAX_HEADERS: usize = 128;

impl Default for HttpLimits {
    fn default() -> HttpLimits {
        HttpLimits {
            headers: 100,
            head_bytes: 16 * 1024,
            body_bytes: 64 * 1024,
            batch: 1_000,
            pipeline: 256,
            max_pending_bytes: 1024 * 1024,
            streams: 128,
            timeout: Duration::from_secs(5),
            idle: Duration::from_secs(60),
            connections: 10_000,
            peer_connections: 8_000,
        }
    }
}

impl RespLimits {
    /// The same, but enough for something to happen at all.
    pub(crate) fn at_least_one(self) -> RespLimits {
        RespLimits {
            args: self.args.max(1),
            arg_bytes: self.arg_bytes.max(1),
            command_bytes: self.command_bytes.max(1),
            pipeline: self.pipeline.max(1),
            ..self
        }
    }
}

impl Default for RespLimits {
    fn default() -> RespLimits {
        RespLimits {
            args: 64,
            arg_bytes: 4 * 1024,
            command_bytes: 64 * 1024,
            transaction_bytes: 1024 * 1024,
            pipeline: 1_024,
            max_pending_bytes: 1024 * 1024,
            timeout: Duration::from_secs(10),
            connections: 10_000,
            peer_connections: 8_000,
        }
    }
}
