//! What has happened on a connection so far.

use std::cell::Cell;
use std::io;
use std::task::Poll;

/// What has happened on a connection so far.
#[derive(Debug, Default)]
pub(in crate::http) struct Progress {
    /// Number of requests so far.
    pub(in crate::http) requests: Cell<u64>,
    /// Number of requests that have no response yet.
    pub(in crate::http) open: Cell<usize>,
    /// Whether bytes have arrived, or are about to, that belong to no request: the start of the next one, or
    /// what follows one that was refused.
    pub(in crate::http) has_rest: Cell<bool>,
    /// Whether the client has ended its side of the connection.
    has_ended: Cell<bool>,
    /// Number of bytes sent so far.
    sent: Cell<u64>,
    /// Whether there are bytes that the socket did not take.
    is_blocked: Cell<bool>,
}

impl Progress {
    /// Counts a request. It is open until the guard is dropped.
    pub(in crate::http) fn begin(&self) -> OpenRequest<'_> {
        self.requests.set(self.requests.get().wrapping_add(1));
        self.open.set(self.open.get() + 1);
        self.has_rest.set(false);
        OpenRequest { progress: self, leaves_rest: false }
    }

    /// Records that bytes have arrived; none means that the client has ended its side.
    pub(in crate::http) fn received(&self, bytes: usize) {
        if bytes == 0 {
            self.has_ended.set(true);
        } else {
            self.has_rest.set(true);
        }
    }

    /// Records what became of an attempt to send.
    pub(in crate::http) fn sent(&self, bytes: &Poll<io::Result<usize>>) {
        self.is_blocked.set(bytes.is_pending());
        if let Poll::Ready(Ok(bytes)) = bytes {
            self.sent.set(self.sent.get().wrapping_add(*bytes as u64));
        }
    }

    /// Returns whether there is nothing to answer and nothing to send.
    pub(in crate::http) fn is_idle(&self) -> bool {
        self.open.get() == 0 && !self.is_blocked.get()
    }

    /// Returns whether the client may still be sending.
    pub(in crate::http) fn expects_more(&self) -> bool {
        self.has_rest.get() && !self.has_ended.get()
    }

    /// Returns how many bytes were sent so far, if there are any left that the socket did not take.
    pub(in crate::http) fn pending(&self) -> Option<u64> {
        self.is_blocked.get().then(|| self.sent.get())
    }
}

/// Counts a request as open.
pub(in crate::http) struct OpenRequest<'p> {
    progress: &'p Progress,
    leaves_rest: bool,
}

impl OpenRequest<'_> {
    /// Records that part of the request was not read.
    pub(in crate::http) fn leave_rest(&mut self) {
        self.leaves_rest = true;
    }
}

impl Drop for OpenRequest<'_> {
    fn drop(&mut self) {
        self.progress.open.set(self.progress.open.get().saturating_sub(1));
        self.progress.has_rest.set(self.leaves_rest);
    }
}
