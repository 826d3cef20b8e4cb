//! Responses over HTTP/2 that are not sent yet: how many bytes there may be, and for how long.
//!
//! hyper itself would keep them for as long as the client likes.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::sync::Notify;
use tokio::time::{Instant, Sleep, sleep};

/// Bodies are sent in frames of this size, so that we see whether the client reads any.
const FRAME: usize = 16 * 1024;

/// Counts the response bytes that one connection has not sent yet.
#[derive(Debug, Default)]
pub(super) struct Unsent {
    bytes: AtomicUsize,
    /// Number of frames and bodies that were sent or dropped so far: it grows while the client reads.
    frames: AtomicU64,
    progress: Notify,
}

/// A response body, which counts as unsent until it is dropped.
#[derive(Debug)]
pub(super) struct PendingBody {
    rest: Bytes,
    unsent: Arc<Unsent>,
}

/// A frame of a body, which counts as unsent until hyper drops it.
struct PendingFrame {
    bytes: Bytes,
    unsent: Arc<Unsent>,
}

impl Unsent {
    /// Creates a body, which counts until it is sent.
    pub(super) fn body(self: &Arc<Unsent>, text: String) -> PendingBody {
        self.bytes.fetch_add(text.len(), Ordering::Relaxed);
        PendingBody { rest: text.into(), unsent: Arc::clone(self) }
    }

    /// Waits until fewer than `max` bytes are unsent. Returns false if nothing is sent within the timeout.
    pub(super) async fn wait_below(&self, max: usize, timeout: Duration) -> bool {
        while self.bytes.load(Ordering::Relaxed) >= max.max(1) {
            if tokio::time::timeout(timeout, self.progress.notified()).await.is_err() {
                return false;
            }
        }
        true
    }

    fn sent(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.frames.fetch_add(1, Ordering::Relaxed);
        self.progress.notify_waiters();
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
        let (bytes, unsent) = (self.rest.split_to(size), Arc::clone(&self.unsent));
        let frame = PendingFrame { bytes, unsent };
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_owner(frame)))))
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
        self.unsent.sent(self.rest.len());
    }
}

impl AsRef<[u8]> for PendingFrame {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for PendingFrame {
    fn drop(&mut self) {
        self.unsent.sent(self.bytes.len());
    }
}

/// Detects a client that does not read its responses.
pub(super) struct StallTimer {
    unsent: Arc<Unsent>,
    timeout: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    /// Number of frames sent when the timer was set.
    frames: u64,
}

impl StallTimer {
    pub(super) fn new(unsent: Arc<Unsent>, timeout: Duration) -> StallTimer {
        StallTimer { unsent, timeout, timer: None, frames: 0 }
    }

    /// Ready if there is something to send, and nothing was sent within the timeout.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let StallTimer { unsent, timeout, timer, frames } = self;
        if unsent.bytes.load(Ordering::Relaxed) == 0 {
            *timer = None;
            return Poll::Pending;
        }
        let timer = timer.get_or_insert_with(|| {
            *frames = unsent.frames.load(Ordering::Relaxed);
            Box::pin(sleep(*timeout))
        });
        loop {
            ready!(timer.as_mut().poll(cx));
            let now = unsent.frames.load(Ordering::Relaxed);
            if std::mem::replace(frames, now) == now {
                return Poll::Ready(());
            }
            timer.as_mut().reset(Instant::now() + *timeout);
        }
    }
}
