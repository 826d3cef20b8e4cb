//! What was allowed without the store is charged to it as soon as it is back.
//!
//! A check that the store answers begins it. Since there may be no further checks, a task tries it now and then, as
//! long as there is something to charge.

use std::sync::{Arc, Weak};

use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};
use tollgate_core::{Act, Store, StoreError};

use super::breaker::PROBE_INTERVAL;
use super::{Failover, Shared, failure};

impl<S: Store + 'static> Failover<S> {
    /// Charges the store for what was allowed without it, as far as it answers.
    pub(crate) async fn flush(&self) {
        self.0.recover().await;
    }
}

impl<S: Store + 'static> Shared<S> {
    /// Charges the store for what was allowed without it, until it fails.
    async fn recover(&self) {
        if let Some(recovery) = self.fallback.begin_recovery() {
            recovery.charge_all(&self.store, self.timeout).await;
        }
    }

    /// Finds out whether the store is back. Not by a charge: if its reply is lost, it cannot be changed any more, and
    /// much of it may not count any more when the store is back.
    async fn is_back(&self) -> bool {
        let Some(op) = self.fallback.uncharged_op() else { return false };
        let Some(permit) = self.breaker.permit() else { return false };
        let items = op.items();
        let peek = op.op(&items).with_act(Act::Peek);
        let mut out = [Err(StoreError::unanswered())];
        self.ask(&[peek], None, &mut out, Instant::now() + self.timeout).await;
        let failure = failure(&out);
        let is_back = failure.is_none();
        self.end(permit, failure);
        is_back
    }

    /// Charges the store in the background.
    pub(super) fn spawn_recovery(self: &Arc<Self>) {
        if self.fallback.has_uncharged()
            && let Ok(runtime) = Handle::try_current()
        {
            let shared = Arc::clone(self);
            runtime.spawn(async move { shared.recover().await });
        }
    }

    /// Looks in the background whether the store is back, if there is something to charge.
    pub(super) fn watch(self: &Arc<Self>) {
        if self.fallback.has_uncharged()
            && let Ok(runtime) = Handle::try_current()
            && self.fallback.begin_watch()
        {
            runtime.spawn(Watch(Arc::downgrade(self)).run());
        }
    }
}

/// The task that looks whether the store is back. It ends when nothing is left to charge, or with the store.
struct Watch<S: Store + 'static>(Weak<Shared<S>>);

impl<S: Store + 'static> Drop for Watch<S> {
    fn drop(&mut self) {
        if let Some(shared) = self.0.upgrade() {
            shared.fallback.end_watch();
        }
    }
}

impl<S: Store + 'static> Watch<S> {
    async fn run(self) {
        loop {
            sleep(PROBE_INTERVAL).await;
            match self.0.upgrade() {
                Some(shared) if shared.fallback.has_uncharged() => {
                    if shared.is_back().await {
                        shared.recover().await;
                    }
                }
                _ => return,
            }
        }
    }
}
