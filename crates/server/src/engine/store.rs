//! The store of the server, and whether it responds.

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tollgate::layers::LayeredStore;
use tollgate::{Clock, MemoryStore, Prepared, StoreStats};
use tollgate_core::storage::OpStorage as _;
use tollgate_core::{Apply, Decision, Name, Op, Policy, Source, Store, StoreError, Time};

use crate::engine::active_policy::ActivePolicy;
use crate::engine::policies::Policies;
use crate::error::with_causes;
use crate::log_throttle::LogThrottle;

/// Where states are kept.
pub(crate) struct StoreHandle {
    store: Arc<dyn Store>,
    kind: Kind,
    clock: Clock,
    /// Whether a store without layers responded to the last call that needed it.
    is_up: AtomicBool,
    /// Whether it was up according to the log.
    is_up_in_log: AtomicBool,
    /// Limits how often that changes.
    changes: LogThrottle,
    /// Room in memory for the limits of the policies.
    prepared: Mutex<Vec<Prepared>>,
}

/// The same store by its type, as far as that is known.
enum Kind {
    Memory(Arc<MemoryStore>),
    Layered(Arc<LayeredStore>),
    Other,
}

impl Default for StoreHandle {
    fn default() -> StoreHandle {
        StoreHandle::memory(Arc::default())
    }
}

impl StoreHandle {
    pub(crate) fn memory(store: Arc<MemoryStore>) -> StoreHandle {
        let clock = store.clock().clone();
        StoreHandle::new(Arc::<MemoryStore>::clone(&store), Kind::Memory(store), clock)
    }

    pub(crate) fn layered(store: Arc<LayeredStore>) -> StoreHandle {
        let kind = Kind::Layered(Arc::clone(&store));
        StoreHandle::new(store, kind, Clock::system())
    }

    pub(crate) fn remote(store: Arc<dyn Store>) -> StoreHandle {
        StoreHandle::new(store, Kind::Other, Clock::system())
    }

    fn new(store: Arc<dyn Store>, kind: Kind, clock: Clock) -> StoreHandle {
        let (is_up, is_up_in_log) = (AtomicBool::new(true), AtomicBool::new(true));
        StoreHandle {
            store,
            kind,
            clock,
            is_up,
            is_up_in_log,
            changes: LogThrottle::default(),
            prepared: Mutex::default(),
        }
    }

    pub(super) fn is_remote(&self) -> bool {
        !matches!(self.kind, Kind::Memory(_))
    }

    /// Returns the layers around the store, if it has some.
    pub(super) fn layers(&self) -> Option<&LayeredStore> {
        match &self.kind {
            Kind::Layered(layers) => Some(layers),
            Kind::Memory(_) | Kind::Other => None,
        }
    }

    /// Returns whether the store responded when it was asked last.
    pub(super) fn is_up(&self) -> bool {
        match self.layers() {
            // They ask by themselves whether it is back.
            Some(layers) => layers.last_error().is_none(),
            None => self.is_up.load(Ordering::Relaxed),
        }
    }

    /// Notes that the store does not respond, which the caller has reported.
    pub(crate) fn set_unavailable(&self, error: StoreError) {
        match self.layers() {
            Some(layers) => layers.set_unavailable(error),
            None => self.is_up.store(false, Ordering::Relaxed),
        }
        self.is_up_in_log.store(false, Ordering::Relaxed);
    }

    pub(super) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Returns how far the wall clock is behind the time of the memory store, if that is a fault.
    pub(super) fn wall_behind(&self) -> Option<Duration> {
        match &self.kind {
            Kind::Memory(_) => self.clock.wall_behind(),
            Kind::Layered(_) | Kind::Other => None,
        }
    }

    /// Tells the store which policies there are.
    pub(super) fn set_policies(&self, policies: &Policies) {
        match &self.kind {
            Kind::Memory(memory) => {
                let prepared = policies.iter().flat_map(|policy| prepare(memory, policy)).collect();
                // What both the old and the new policies use stays throughout.
                *self.prepared.lock().unwrap_or_else(PoisonError::into_inner) = prepared;
            }
            Kind::Layered(layers) => layers.set_policies(policies.layers()),
            Kind::Other => {}
        }
    }

    pub(super) fn stats(&self) -> Option<StoreStats> {
        match &self.kind {
            Kind::Memory(memory) => Some(memory.stats()),
            Kind::Layered(_) | Kind::Other => None,
        }
    }

    /// Returns the number of states of a policy with a bound of its own.
    pub(super) fn keys_of(&self, policy: &Name) -> Option<usize> {
        match &self.kind {
            Kind::Memory(memory) => memory.keys_of(policy),
            Kind::Layered(_) | Kind::Other => None,
        }
    }

    pub(super) async fn apply(&self, ops: &[Op<'_>], out: &mut [Result<Decision, StoreError>]) {
        if let Apply::Pending(pending) = self.store.apply(ops, None, out) {
            pending.await;
        }
        if self.is_remote() {
            self.watch(ops, out);
        }
    }

    /// Notes whether the store has responded.
    fn watch(&self, ops: &[Op<'_>], out: &[Result<Decision, StoreError>]) {
        let is_up = !out.iter().any(is_unavailable);
        // What needs no state was answered without the store.
        let was_asked = || ops.iter().any(Op::touches_state);
        if self.layers().is_none() && self.is_up() != is_up && was_asked() {
            self.is_up.store(is_up, Ordering::Relaxed);
        }
        if self.is_up_in_log.load(Ordering::Relaxed) != is_up {
            self.log_change();
        }
    }

    /// Returns whether the store itself was asked for these answers.
    pub(super) fn was_asked(&self, out: &[Result<Decision, StoreError>]) -> bool {
        let Some(layers) = self.layers() else { return true };
        let source = |answer: &Result<Decision, _>| answer.as_ref().ok().map(|one| one.source);
        if out.iter().any(|answer| source(answer) == Some(Source::Store)) {
            return true;
        }
        // What the server knew or had taken ahead was answered without the store, whether it is up or not.
        let was_known =
            |answer: &Result<Decision, _>| answer.as_ref().is_ok_and(|one| !one.degraded);
        !out.iter().all(was_known) && !layers.stats().is_open
    }

    /// Logs whether the store is available, if that is not what the log says.
    #[cold]
    pub(super) fn log_change(&self) {
        let is_up = self.is_up();
        if self.is_up_in_log.load(Ordering::Relaxed) == is_up || !self.changes.is_time() {
            return;
        }
        self.is_up_in_log.store(is_up, Ordering::Relaxed);
        if is_up {
            return tracing::info!("store available again");
        }
        let error = self.layers().and_then(LayeredStore::last_error);
        match error.as_ref().and_then(Error::source) {
            Some(cause) => tracing::error!("store unavailable: {}", with_causes(cause)),
            None => tracing::error!("store unavailable"),
        }
    }
}

/// Makes room in memory for a policy and its candidate, and bounds each of them.
fn prepare(memory: &Arc<MemoryStore>, policy: &ActivePolicy) -> Vec<Prepared> {
    memory.set_max_keys(policy.state_name(), policy.max_keys());
    let limits = policy.applied().limits().to_vec();
    let applied = memory.prepare(&Policy::new(policy.state_name().clone(), limits));
    let mut prepared = vec![applied];
    if let Some(candidate) = policy.candidate() {
        memory.set_max_keys(candidate.name(), policy.max_keys());
        prepared.push(memory.prepare(candidate));
    }
    prepared
}

/// Returns whether an operation was answered without the store, because the store did not respond.
pub(crate) fn is_unavailable(answer: &Result<Decision, StoreError>) -> bool {
    match answer {
        Ok(decision) => decision.degraded,
        Err(error) => error.is_unavailable(),
    }
}
