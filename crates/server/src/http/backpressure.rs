//! Answers over HTTP/2 that are not sent yet: how much there may be of them, and for how long.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::sync::Notify;
use tokio::time::{Instant, Sleep, sleep};

/// How many bytes are sent at a time, so that it is seen whether the client reads any.
const FRAME: usize = 16 * 1024;

/// What one connection has not sent yet.
#[derive(Debug, Default)]
pub(super) struct Unsent {
    bytes: AtomicUsize,
    /// How often some of it was sent.
    times: AtomicU64,
    sent: Notify,
}

/// The body of an answer.
#[derive(Debug)]
pub(super) struct PendingBody {
    rest: Bytes,
    unsent: Arc<Unsent>,
}

/// A part of it, which counts until it is dropped: whoever sends it may have to wait with it.
struct Part {
    bytes: Bytes,
    unsent: Arc<Unsent>,
}

impl Unsent {
    /// A body, which counts until it is sent.
    pub(super) fn body(self: &Arc<Unsent>, text: String) -> PendingBody {
        self.bytes.fetch_add(text.len(), Ordering::Relaxed);
        PendingBody { rest: text.into(), unsent: Arc::clone(self) }
    }

    /// Waits until there are fewer than this many bytes. Answers whether it came to that: if nothing was
    /// sent for as long as one is patient, nobody reads.
    pub(super) async fn fewer_than(&self, most: usize, timeout: Duration) -> bool {
        while self.bytes.load(Ordering::Relaxed) >= most.max(1) {
            if tokio::time::timeout(timeout, self.sent.notified()).await.is_err() {
                return false;
            }
        }
        true
    }

    fn take(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.times.fetch_add(1, Ordering::Relaxed);
        self.sent.notify_waiters();
    }
}

impl Body for PendingBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let size = self.rest.len().min(FRAME);
        if size == 0 {
            return Poll::Ready(None);
        }
        let part = Part { bytes: self.rest.split_to(size), unsent: Arc::clone(&self.unsent) };
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_owner(part)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(u64::try_from(self.rest.len()).unwrap_or(u64::MAX))
    }
}

impl Drop for PendingBody {
    fn drop(&mut self) {
        self.unsent.take(self.rest.len());
    }
}

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.unsent.take(self.bytes.len());
    }
}

/// Waits for a client that does not read.
pub(super) struct StallTimer {
    unsent: Arc<Unsent>,
    timeout: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    /// How often something had been sent when the timer was set.
    known: u64,
}

impl StallTimer {
    pub(super) fn new(unsent: Arc<Unsent>, timeout: Duration) -> StallTimer {
        StallTimer { unsent, timeout, timer: None, known: 0 }
    }

    /// Ready if there is something to be sent, and nothing was for as long as one is patient.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let StallTimer { unsent, timeout, timer, known } = self;
        if unsent.bytes.load(Ordering::Relaxed) == 0 {
            *timer = None;
            return Poll::Pending;
        }
        let timer = timer.get_or_insert_with(|| {
            *known = unsent.times.load(Ordering::Relaxed);
            Box::pin(sleep(*timeout))
        });
        loop {
            ready!(timer.as_mut().poll(cx));
            let times = unsent.times.load(Ordering::Relaxed);
            if std::mem::replace(known, times) == times {
                return Poll::Ready(());
            }
            timer.as_mut().reset(Instant::now() + *timeout);
        }
    }
}
