//! Checks that have waited for long behind a call: they are sent beside it.
//!
//! The first check of a key is sent by its caller. A caller that does not poll it any more, as a stream of checks does
//! whose consumer is slow, would otherwise let all others wait until they give up.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use tokio::runtime::Handle;
use tokio::time::sleep;
use tollgate_core::{MAX_COALESCED, Store};

use super::{Shared, Turn};

/// How many times in a timeout the task looks. What it has seen waiting twice is sent, so that half of the timeout is
/// left.
const LOOKS_PER_TIMEOUT: u32 = 4;

impl<S: Store + 'static> Shared<S> {
    /// Has a task look for checks that have waited for long, as long as any wait.
    pub(super) fn watch(self: &Arc<Self>, runtime: &Handle) {
        if !self.is_watched.load(Ordering::SeqCst) && !self.is_watched.swap(true, Ordering::SeqCst)
        {
            runtime.spawn(Watch(Arc::downgrade(self)).run(runtime.clone()));
        }
    }

    /// Sends the checks that have waited for long.
    fn send_stalled(self: &Arc<Self>, runtime: &Handle) {
        for (hash, waiters) in self.queues.take_stalled(MAX_COALESCED) {
            Turn { shared: Arc::clone(self), hash, runtime: runtime.clone() }.spawn(waiters);
        }
    }
}

/// The task. It ends when no check waits, or with the store.
struct Watch<S: Store + 'static>(Weak<Shared<S>>);

impl<S: Store + 'static> Drop for Watch<S> {
    fn drop(&mut self) {
        if let Some(shared) = self.0.upgrade() {
            shared.is_watched.store(false, Ordering::SeqCst);
        }
    }
}

impl<S: Store + 'static> Watch<S> {
    async fn run(mut self, runtime: Handle) {
        while let Some(timeout) = self.0.upgrade().map(|shared| shared.timeout) {
            sleep(timeout / LOOKS_PER_TIMEOUT).await;
            let Some(shared) = self.0.upgrade() else { return };
            shared.send_stalled(&runtime);
            if shared.queues.is_empty() {
                shared.is_watched.store(false, Ordering::SeqCst);
                // A check that came in between has found this task there.
                if shared.queues.is_empty() || shared.is_watched.swap(true, Ordering::SeqCst) {
                    self.0 = Weak::new();
                    return;
                }
            }
        }
    }
}
