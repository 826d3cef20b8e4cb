//! When a client has taken too long. One timer looks at a connection now and then, so that no request has to
//! set one.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

use super::Connection;
use crate::limits::HttpLimits;

/// Why a connection is not served any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum End {
    /// Both sides are done.
    Closed,
    /// There was nothing to do for a while.
    Quiet,
    /// The rest of a head did not arrive in time.
    Incomplete,
    /// The client does not read its responses.
    Unread,
}

/// Notices a client that takes too long.
pub(in crate::http) struct Watch<'c> {
    connection: &'c Connection,
    timer: Pin<Box<Sleep>>,
    /// How often to look.
    period: Duration,
    /// For how long nothing must happen until the connection is quiet.
    quiet: Duration,
    seen: Seen,
    /// When it was seen first.
    since: Instant,
}

/// What the timer saw. While nothing of it changes, we wait for the client, or for the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    requests: u64,
    open: usize,
    has_partial_head: bool,
    pending: Option<u64>,
}

impl<'c> Watch<'c> {
    pub(in crate::http) fn new(connection: &'c Connection, quiet: Duration) -> Watch<'c> {
        let period = period(&connection.service.limits);
        Watch {
            connection,
            timer: Box::pin(sleep(period)),
            period,
            quiet,
            seen: Seen::now(connection),
            since: Instant::now(),
        }
    }

    /// Ready if the client has taken too long, or there was nothing to do for a while.
    pub(in crate::http) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        while self.timer.as_mut().poll(cx).is_ready() {
            let (now, seen) = (Instant::now(), Seen::now(self.connection));
            self.timer.as_mut().reset(now + self.period);
            if self.seen != seen {
                (self.seen, self.since) = (seen, now);
                continue;
            }
            let waited = now - self.since;
            let is_late = waited >= self.connection.service.limits.timeout;
            match seen {
                Seen { pending: Some(_), .. } if is_late => return Poll::Ready(End::Unread),
                // The store is slow, or the body is, which has a timer of its own.
                Seen { pending: Some(_), .. } | Seen { open: 1.., .. } => {}
                Seen { has_partial_head: true, .. } if is_late => {
                    return Poll::Ready(End::Incomplete);
                }
                Seen { has_partial_head: true, .. } => {}
                _ if waited >= self.quiet => return Poll::Ready(End::Quiet),
                _ => {}
            }
        }
        Poll::Pending
    }
}

impl Seen {
    fn now(connection: &Connection) -> Seen {
        let Connection { progress, unsent, .. } = connection;
        Seen {
            requests: progress.requests.get(),
            open: progress.open.get(),
            // Over HTTP/2 much arrives that belongs to no request.
            has_partial_head: unsent.is_none() && progress.has_rest.get(),
            pending: unsent.as_ref().and_then(|unsent| unsent.pending()).or(progress.pending()),
        }
    }
}

/// Returns how often to look at a connection. Timeouts last for at most this much longer.
pub(in crate::http) fn period(limits: &HttpLimits) -> Duration {
    limits.timeout.min(limits.idle).max(Duration::from_millis(1))
}
