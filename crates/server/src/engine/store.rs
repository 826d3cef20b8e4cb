//! The store of the server, and whether it responds.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tollgate::{Clock, MemoryStore, StoreStats};
use tollgate_core::{Apply, Decision, Op, Store, StoreError, Time};

use crate::error::with_causes;
use crate::log_throttle::LogThrottle;

/// Where states are kept.
pub(crate) struct StoreHandle {
    store: Arc<dyn Store>,
    /// The same store, if it is in memory.
    memory: Option<Arc<MemoryStore>>,
    clock: Clock,
    /// Whether the store responded to the last call that needed it.
    is_up: AtomicBool,
    /// Limits how often a change of `is_up` is logged.
    changes: LogThrottle,
}

impl Default for StoreHandle {
    fn default() -> StoreHandle {
        StoreHandle::memory(Arc::default())
    }
}

impl StoreHandle {
    pub(crate) fn memory(store: Arc<MemoryStore>) -> StoreHandle {
        let clock = store.clock().clone();
        StoreHandle::new(Arc::<MemoryStore>::clone(&store), Some(store), clock)
    }

    pub(crate) fn remote(store: Arc<dyn Store>) -> StoreHandle {
        StoreHandle::new(store, None, Clock::system())
    }

    fn new(store: Arc<dyn Store>, memory: Option<Arc<MemoryStore>>, clock: Clock) -> StoreHandle {
        let (is_up, changes) = (AtomicBool::new(true), LogThrottle::default());
        StoreHandle { store, memory, clock, is_up, changes }
    }

    pub(super) fn is_remote(&self) -> bool {
        self.memory.is_none()
    }

    pub(super) fn is_up(&self) -> bool {
        self.is_up.load(Ordering::Relaxed)
    }

    pub(super) fn now(&self) -> Time {
        self.clock.now()
    }

    pub(super) fn stats(&self) -> Option<StoreStats> {
        self.memory.as_ref().map(|memory| memory.stats())
    }

    pub(super) async fn apply(&self, ops: &[Op<'_>], out: &mut [Result<Decision, StoreError>]) {
        if let Apply::Pending(pending) = self.store.apply(ops, None, out) {
            pending.await;
        }
        let unavailable =
            |answer: &Result<_, StoreError>| answer.as_ref().is_err_and(StoreError::is_unavailable);
        let is_up = !out.iter().any(unavailable);
        if self.is_up() != is_up {
            self.change(is_up, ops, out);
        }
    }

    #[cold]
    fn change(&self, is_up: bool, ops: &[Op<'_>], out: &[Result<Decision, StoreError>]) {
        // An operation that needs no state was answered without the store.
        let from_store =
            |(op, answer): (&Op<'_>, &Result<_, _>)| op.touches_state() && answer.is_ok();
        if is_up && !ops.iter().zip(out).any(from_store) {
            return;
        }
        self.is_up.store(is_up, Ordering::Relaxed);
        if !self.changes.is_time() {
            return;
        }
        let errors = out.iter().filter_map(|answer| answer.as_ref().err());
        match errors.filter_map(Error::source).next() {
            _ if is_up => tracing::info!("store available again"),
            Some(cause) => tracing::error!("store unavailable: {}", with_causes(cause)),
            None => tracing::error!("store unavailable"),
        }
    }
}
