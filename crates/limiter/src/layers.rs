//! Layers: what stands between a caller and a remote store, each one a store around another.
//!
//! ```text
//! caller ------------------> deny_cache -> failover -> coalesce -> Redis
//!        -> write_behind -->
//!        -> prefetch ------>
//! ```
//!
//! None of the first three ever allows what the store would deny, as long as the store answers. The other two
//! do, within a bound, if a policy chooses them ([`Distribution`]).

mod budget;
mod coalesce;
mod costs;
mod deny_cache;
mod distribute;
mod distribution;
mod failover;
mod hash;
mod known;
mod local;
mod node;
mod owned_op;
mod policies;
mod prefetch;
mod schedule;
mod stats;
mod subset;
mod table;
mod versions;
mod write_behind;
mod write_ids;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tollgate_core::{Apply, Decision, Name, Op, Store, StoreError, Time};

use crate::clock::Clock;
use coalesce::Coalesce;
use deny_cache::DenyCache;
use distribute::Distribute;
use failover::Failover;
use node::Node;
use policies::Policies;

pub use budget::DEFAULT_LAYER_MEMORY;
pub use distribution::{
    DEFAULT_FLUSH, DEFAULT_PART, Distribution, FirstRead, Prefetch, WriteBehind,
};
pub use failover::DEFAULT_TIMEOUT;
pub use policies::{OnFailure, PolicyLayers};
pub use stats::LayerStats;
pub use tollgate_core::MAX_COALESCED;

/// Least time after which a connection that does not reply is replaced.
const MIN_RESPONSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The settings of the layers around a remote store.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use tollgate::layers::Layers;
/// use tollgate::{AnyStore, MemoryStore};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// // A store of your own, or a `RedisStore`.
/// let store = Arc::<MemoryStore>::default();
/// let layers = Layers::new().timeout(Duration::from_millis(50)).nodes(4);
/// let store = AnyStore::layered(layers.around(store));
/// let api = store.limiter("api", ["gcra 100/s burst 200"])?;
/// assert!(api.check("customer-7").await?.allowed);
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(example())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "settings do nothing until they are put around a store"]
pub struct Layers {
    timeout: Duration,
    nodes: u32,
    max_memory: usize,
    clock: Option<Clock>,
}

impl Default for Layers {
    fn default() -> Layers {
        Layers { timeout: DEFAULT_TIMEOUT, nodes: 1, max_memory: DEFAULT_LAYER_MEMORY, clock: None }
    }
}

impl Layers {
    /// Creates the default settings.
    pub fn new() -> Layers {
        Layers::default()
    }

    /// Sets how long the store may take to answer before the failure mode of the policy decides. Default:
    /// [`DEFAULT_TIMEOUT`].
    pub fn timeout(mut self, timeout: Duration) -> Layers {
        self.timeout = timeout;
        self
    }

    /// Sets how many processes share the store. [`OnFailure::Local`] gives each its part of the limit.
    /// Default: 1.
    pub fn nodes(mut self, nodes: u32) -> Layers {
        self.nodes = nodes.max(1);
        self
    }

    /// Sets how many bytes the tables of all layers may take together. Default: [`DEFAULT_LAYER_MEMORY`].
    pub fn max_memory(mut self, bytes: usize) -> Layers {
        self.max_memory = bytes;
        self
    }

    /// Sets the clock by which this process waits. Default: [`Clock::system`].
    pub fn clock(mut self, clock: Clock) -> Layers {
        self.clock = Some(clock);
        self
    }

    /// Returns how long a connection to the store may leave a call without a reply before it is replaced. A
    /// connection whose replies are late is not broken yet: the layers do not wait for them.
    #[must_use]
    pub fn response_timeout(&self) -> Duration {
        self.timeout.max(MIN_RESPONSE_TIMEOUT)
    }

    /// Puts the layers around a store.
    #[must_use]
    pub fn around(self, store: Arc<dyn Store>) -> Arc<LayeredStore> {
        let Layers { timeout, nodes, max_memory, clock } = self;
        let node = Node::new(nodes, timeout, clock.unwrap_or_default(), max_memory);
        let policies = Arc::<Policies>::default();
        let store = Coalesce::new(store, node.secret, timeout);
        let store = Failover::new(store, node.clone(), Arc::clone(&policies));
        let store = Arc::new(DenyCache::new(store, &node));
        let layers = Distribute::new(store, Arc::clone(&policies), &node);
        Arc::new(LayeredStore { layers, policies, node })
    }
}

/// The layers through which the store decides every check.
type Strict = DenyCache<Failover<Coalesce<Arc<dyn Store>>>>;

/// A remote store with layers around it. Created by [`Layers::around`].
pub struct LayeredStore {
    layers: Distribute<Strict>,
    policies: Arc<Policies>,
    node: Node,
}

impl LayeredStore {
    /// Sets what the layers do for one policy.
    pub fn set_policy(&self, name: &Name, layers: PolicyLayers) {
        self.change_policy(name, |_| layers);
    }

    /// Changes what the layers do for one policy.
    pub fn change_policy(&self, name: &Name, change: impl Fn(PolicyLayers) -> PolicyLayers) {
        self.policies.change(name, change);
    }

    /// Sets what the layers do for each policy; all others have the defaults.
    pub fn set_policies(&self, policies: impl IntoIterator<Item = (Name, PolicyLayers)>) {
        self.policies.replace(HashMap::from_iter(policies));
    }

    /// Returns what the layers have done so far.
    #[must_use]
    pub fn stats(&self) -> LayerStats {
        let deny_cache = self.layers.store();
        let (failover, write_behind) = (deny_cache.store(), &self.layers.write_behind);
        let prefetch = &self.layers.prefetch;
        LayerStats {
            denied_by_cache: deny_cache.answered(),
            coalesced: failover.store().joined(),
            calls_coalesced: failover.store().saved(),
            decided_locally: write_behind.answered(),
            decided_by_prefetch: prefetch.answered(),
            unwritten: write_behind.difference(),
            prefetched: prefetch.difference(),
            over_admitted: write_behind.over_admitted().saturating_add(prefetch.over_admitted()),
            failures: failover.failures(),
            uncharged_keys: failover.uncharged_keys(),
            lost: failover.lost(),
            unanswered: failover.unanswered(),
            is_open: failover.is_open(),
            nodes: failover.nodes(),
            memory: self.node.budget.used().saturating_add(failover.memory()),
            max_memory: self.node.max_memory,
        }
    }

    /// Writes what is unwritten, charges what was allowed while the store was unavailable, and gives back quota that
    /// was taken ahead, as far as the store answers. Call it before the process ends.
    pub async fn flush(&self) {
        self.layers.store().store().flush().await;
        self.layers.write_behind.flush().await;
        self.layers.prefetch.flush().await;
    }

    /// Notes that the store could not be reached, as when it was opened. Until it answers, it counts as unavailable.
    pub fn set_unavailable(&self, error: StoreError) {
        self.layers.store().store().set_unavailable(error);
    }

    /// Returns why the store failed last; `None` if it has answered since.
    #[must_use]
    pub fn last_error(&self) -> Option<StoreError> {
        self.layers.store().store().last_error()
    }
}

impl Store for LayeredStore {
    fn apply<'a>(
        &'a self,
        ops: &'a [Op<'a>],
        at: Option<Time>,
        out: &'a mut [Result<Decision, StoreError>],
    ) -> Apply<'a> {
        self.layers.apply(ops, at, out)
    }
}

impl fmt::Debug for LayeredStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LayeredStore").field("stats", &self.stats()).finish_non_exhaustive()
    }
}
