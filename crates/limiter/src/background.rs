//! Finishing what a dropped guard or future leaves, without blocking.

use std::future::Future;
use std::pin::Pin;
#[cfg(feature = "tokio")]
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Waker};

/// Maximum number of operations that are finished in the background at once. One more is not done: the
/// `ttl` of a lease is what guarantees that it ends.
#[cfg(feature = "tokio")]
const MAX_OPERATIONS: usize = 4096;

#[cfg(feature = "tokio")]
static OPERATIONS: AtomicUsize = AtomicUsize::new(0);

/// Where futures can be finished: the tokio runtime in which this was created, if there is one.
#[derive(Debug, Clone)]
pub(crate) struct Background {
    #[cfg(feature = "tokio")]
    runtime: Option<tokio::runtime::Handle>,
}

impl Background {
    /// Returns the background of the calling task.
    pub(crate) fn current() -> Background {
        Background {
            #[cfg(feature = "tokio")]
            runtime: tokio::runtime::Handle::try_current().ok(),
        }
    }

    /// Finishes a future that is ready when it is first polled, as all of a memory store are.
    pub(crate) fn finish_now(future: impl Future<Output = ()>) {
        let mut future = std::pin::pin!(future);
        let _ = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }

    /// Finishes a future in the background. Without a runtime it is polled once.
    pub(crate) fn finish(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        #[cfg(feature = "tokio")]
        if let Some(runtime) = &self.runtime {
            let Some(counted) = Counted::new() else { return };
            runtime.spawn(async move {
                future.await;
                drop(counted);
            });
            return;
        }
        Background::finish_now(future);
    }
}

/// One of the operations in the background.
#[cfg(feature = "tokio")]
struct Counted;

#[cfg(feature = "tokio")]
impl Counted {
    fn new() -> Option<Counted> {
        let counted = Counted;
        (OPERATIONS.fetch_add(1, Ordering::Relaxed) < MAX_OPERATIONS).then_some(counted)
    }
}

#[cfg(feature = "tokio")]
impl Drop for Counted {
    fn drop(&mut self) {
        OPERATIONS.fetch_sub(1, Ordering::Relaxed);
    }
}
