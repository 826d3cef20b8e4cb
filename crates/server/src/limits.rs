//! Limits on connections: how much a client may send, and how much is buffered for a client that does not
//! read its responses.

use std::time::Duration;

/// The limits of each protocol.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ConnectionLimits {
    pub(crate) resp: RespLimits,
    pub(crate) http: HttpLimits,
}

/// The limits on connections of the Redis protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RespLimits {
    /// Maximum number of arguments in a command, including its name.
    pub args: usize,
    /// Maximum number of bytes in an argument.
    pub arg_bytes: usize,
    /// Maximum number of bytes in a command.
    pub command_bytes: usize,
    /// Maximum number of bytes of commands queued between `MULTI` and `EXEC`.
    pub transaction_bytes: usize,
    /// Maximum number of commands decided in one call before other connections get a turn.
    pub pipeline: usize,
    /// Number of bytes of unread replies from which on no more commands are processed.
    pub max_pending_bytes: usize,
    /// How long a client may leave its replies unread, or a command unfinished, before its connection is
    /// closed.
    pub timeout: Duration,
    /// Maximum number of open connections.
    pub connections: usize,
    /// Maximum number of open connections of one peer, which is an IPv4 address or an IPv6 /64 network.
    pub peer_connections: usize,
}

/// The limits on HTTP connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpLimits {
    /// Maximum number of header fields in a request.
    pub headers: usize,
    /// Maximum number of bytes in the head of a request: the request line and all header fields.
    pub head_bytes: usize,
    /// Maximum number of bytes in the body of a request.
    pub body_bytes: usize,
    /// Maximum number of checks in a batch.
    pub batch: usize,
    /// Number of bytes of unread responses from which on no more requests are processed.
    pub max_pending_bytes: usize,
    /// Maximum number of concurrent requests on one HTTP/2 connection.
    pub streams: u32,
    /// How long a client may leave its responses unread, or a request unfinished, before its connection is
    /// closed. That takes at most twice this time.
    pub timeout: Duration,
    /// How long a connection may be idle between requests. It is closed after at most twice this time.
    pub idle: Duration,
    /// Maximum number of open connections.
    pub connections: usize,
    /// Maximum number of open connections of one peer, which is an IPv4 address or an IPv6 /64 network.
    pub peer_connections: usize,
}

impl HttpLimits {
    /// Returns these limits, raised to the smallest values that let a connection work at all.
    pub(crate) fn at_least_one(self) -> HttpLimits {
        HttpLimits {
            headers: self.headers.clamp(1, MAX_HEADERS),
            head_bytes: self.head_bytes.max(1),
            batch: self.batch.max(1),
            streams: self.streams.max(1),
            ..self
        }
    }
}

/// Maximum value of [`HttpLimits::headers`].
pub(crate) const MAX_HEADERS: usize = 128;

impl Default for HttpLimits {
    fn default() -> HttpLimits {
        HttpLimits {
            headers: 100,
            head_bytes: 16 * 1024,
            body_bytes: 64 * 1024,
            batch: 1_000,
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
    /// Returns these limits, raised to the smallest values that let a connection work at all.
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
