//! The body of a response, and over HTTP/2 how many bytes of bodies are not sent yet.
//!
//! A client of HTTP/1 that does not read blocks its socket. A client of HTTP/2 may also grant no window, and
//! hyper would keep the rest for as long as the client likes.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::sync::Notify;

/// Bodies are sent in frames of this size: hyper's write buffer does not grow much beyond it, and over HTTP/2
/// we see whether the client reads any.
const FRAME: usize = 16 * 1024;

/// Counts the response bytes that one connection of HTTP/2 has not sent yet.
#[derive(Debug, Default)]
pub(super) struct Unsent {
    bytes: AtomicUsize,
    /// Number of frames and bodies that were sent or dropped so far: it grows while the client reads.
    frames: AtomicU64,
    progress: Notify,
}

/// A response body. Over HTTP/2 it counts as unsent until it is dropped.
#[derive(Debug)]
pub(super) struct ResponseBody {
    pub(super) rest: Bytes,
    unsent: Option<Arc<Unsent>>,
}

/// A frame of a body, which counts as unsent until hyper drops it.
struct PendingFrame {
    bytes: Bytes,
    unsent: Arc<Unsent>,
}

impl Unsent {
    /// Waits until fewer than `max` bytes are unsent. Returns false if nothing is sent within the timeout.
    pub(super) async fn wait_below(&self, max: usize, timeout: Duration) -> bool {
        while self.bytes.load(Ordering::Relaxed) >= max.max(1) {
            if tokio::time::timeout(timeout, self.progress.notified()).await.is_err() {
                return false;
            }
        }
        true
    }

    /// Returns how often something was sent so far, if there is anything left to send.
    pub(super) fn pending(&self) -> Option<u64> {
        let is_pending = self.bytes.load(Ordering::Relaxed) > 0;
        is_pending.then(|| self.frames.load(Ordering::Relaxed))
    }

    fn sent(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.frames.fetch_add(1, Ordering::Relaxed);
        self.progress.notify_waiters();
    }
}

impl ResponseBody {
    pub(super) fn new(text: String, unsent: Option<&Arc<Unsent>>) -> ResponseBody {
        if let Some(unsent) = unsent {
            unsent.bytes.fetch_add(text.len(), Ordering::Relaxed);
        }
        ResponseBody { rest: text.into(), unsent: unsent.cloned() }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = match self.rest.len() {
            0 => return Poll::Ready(None),
            1..=FRAME => std::mem::take(&mut self.rest),
            _ => self.rest.split_to(FRAME),
        };
        let frame = match &self.unsent {
            Some(unsent) => Bytes::from_owner(PendingFrame { bytes, unsent: Arc::clone(unsent) }),
            None => bytes,
        };
        Poll::Ready(Some(Ok(Frame::data(frame))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(u64::try_from(self.rest.len()).unwrap_or(u64::MAX))
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        if let Some(unsent) = &self.unsent {
            unsent.sent(self.rest.len());
        }
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
