//! The store is found to be back, and what was allowed without it is charged to it.
//!
//! A check that the store answers begins it. Since there may be no further checks, a task asks the store now and then,
//! as long as it fails or there is something to charge.

use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock, Weak};

use tokio::runtime::Handle;
use tokio::time::sleep;
use tollgate_core::storage::OpStorage as _;
use tollgate_core::{Act, Item, Limit, Name, Op, Rate, Store, StoreError};

use super::breaker::PROBE_INTERVAL;
use super::{Failover, Shared};
use crate::layers::owned_op::{Items, OwnedOp};

/// The policy of the probe. No other operation counts under it.
static PROBE: LazyLock<Name> = LazyLock::new(|| Name::reserved("probe"));
/// What the probe takes counts for a microsecond.
static PROBE_LIMIT: LazyLock<Option<Limit>> =
    LazyLock::new(|| Limit::gcra(Rate::per_second(1_000_000), 1).ok());

/// Returns what the probe writes in place of an item.
fn probe_of<'a>(item: &Item<'a>) -> Option<Item<'a>> {
    Some(Item { limit: PROBE_LIMIT.as_ref()?, subject: item.subject, cost: 1 })
}

impl<S: Store + 'static> Failover<S> {
    /// Charges the store for what was allowed without it, as far as it answers.
    pub(crate) async fn flush(&self) {
        let shared = &self.0;
        let recovery = shared.fallback.recovery().await;
        recovery.charge_all(&shared.store, shared.node.timeout).await;
    }
}

impl<S: Store + 'static> Shared<S> {
    /// Charges the store for what was allowed without it, until it fails.
    async fn recover(&self) {
        if let Some(recovery) = self.fallback.begin_recovery() {
            recovery.charge_all(&self.store, self.node.timeout).await;
        }
    }

    /// Finds out whether the store is back, by a peek at the key of an operation that failed, and by a write of no
    /// consequence, since a store that is out of memory or read-only still answers a peek. Not by a charge of what was
    /// allowed: if its reply is lost, it cannot be changed any more, and much of it may not count any more when the
    /// store is back.
    async fn is_back(&self, failed: &OwnedOp) -> bool {
        let permit = self.breaker.probe();
        let items = failed.items();
        let peek = failed.op(&items).with_act(Act::Peek).without_id();
        let written: Items<'_> = items.iter().filter_map(probe_of).collect();
        let write = Op::check(&PROBE, &written).with_act(Act::Charge);
        let (ops, mut out) = ([peek, write], [(); 2].map(|()| Err(StoreError::unanswered())));
        self.ask(&ops, None, &mut out, self.node.deadline()).await;
        let is_back = self.end(permit, &ops, &out);
        if is_back {
            self.is_suspected.store(false, Ordering::SeqCst);
        }
        is_back
    }

    /// Whether there is something to do as soon as the store is back.
    fn is_behind(&self) -> bool {
        !self.fallback.uncharged().is_empty()
            || self.is_suspected.load(Ordering::SeqCst)
            || self.last_error().is_some()
    }

    /// Charges the store in the background.
    pub(super) fn spawn_recovery(self: &Arc<Self>) {
        if self.fallback.needs_recovery()
            && let Ok(runtime) = Handle::try_current()
        {
            let shared = Arc::clone(self);
            runtime.spawn(async move { shared.recover().await });
        }
    }

    /// Looks in the background whether the store is back, after some of these operations have failed.
    pub(super) fn watch(self: &Arc<Self>, ops: &[Op<'_>]) {
        if self.is_watched.load(Ordering::SeqCst) {
            return;
        }
        let (Ok(runtime), Some(op)) =
            (Handle::try_current(), ops.iter().find(|op| op.touches_state()))
        else {
            return;
        };
        if !self.is_watched.swap(true, Ordering::SeqCst) {
            runtime.spawn(Watch(Arc::downgrade(self)).run(OwnedOp::new(op)));
        }
    }
}

/// The task that looks whether the store is back. It ends when nothing is left to do, or with the store.
struct Watch<S: Store + 'static>(Weak<Shared<S>>);

impl<S: Store + 'static> Drop for Watch<S> {
    fn drop(&mut self) {
        if let Some(shared) = self.0.upgrade() {
            shared.is_watched.store(false, Ordering::SeqCst);
        }
    }
}

impl<S: Store + 'static> Watch<S> {
    async fn run(mut self, failed: OwnedOp) {
        loop {
            sleep(PROBE_INTERVAL).await;
            let Some(shared) = self.0.upgrade() else { return };
            if !shared.is_behind() {
                shared.is_watched.store(false, Ordering::SeqCst);
                // What failed until now has found this task there.
                if !shared.is_behind() || shared.is_watched.swap(true, Ordering::SeqCst) {
                    self.0 = Weak::new();
                    return;
                }
            } else if shared.is_back(&failed).await {
                shared.recover().await;
            }
        }
    }
}
