//! A store that is chosen at run time.

use std::fmt;
use std::sync::Arc;

use tollgate_core::{Apply, Decision, Op, Policy, Store, StoreError, Time};

#[cfg(feature = "layers")]
use crate::layers::LayeredStore;
use crate::limiter_store::{LimiterStore, Sealed};
use crate::memory::{MemoryStore, Prepared};
use crate::shared::Shared;

/// A store that is chosen at run time: Redis, memory, or any other [`Store`]. Operations of a limiter
/// on it are awaited.
///
/// [`open`](crate::open) creates the store that a URL names.
///
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let store = tollgate::open("memory:").await?;
/// let login = store.limiter("login", ["gcra 1/s burst 5 per ip", "fixed-window 100/day per user"])?;
/// let decision = login.keys(&[("ip", "203.0.113.9"), ("user", "42")]).check().await?;
/// assert!(decision.allowed);
/// # Ok(())
/// # }
/// # futures_executor::block_on(example()).unwrap();
/// ```
pub struct AnyStore {
    store: Arc<dyn Store>,
    shared: Arc<Shared>,
    is_remote: bool,
    /// The same store, if it has layers.
    #[cfg(feature = "layers")]
    layers: Option<Arc<LayeredStore>>,
}

impl AnyStore {
    /// Wraps a store of your own, or a `RedisStore` without layers: every check is then a call, and fails if
    /// the store does.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Arc<AnyStore> {
        Arc::new(AnyStore::of(store, Arc::default(), true))
    }

    /// Wraps a remote store with layers around it, as [`open`](crate::open) creates it.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Duration;
    /// use tollgate::layers::Layers;
    /// use tollgate::{AnyStore, MemoryStore};
    ///
    /// // In place of memory: `RedisStore::builder(url).build()?`.
    /// let store = Arc::<MemoryStore>::default();
    /// let store = AnyStore::layered(Layers::new().timeout(Duration::from_millis(50)).around(store));
    /// let limiter = store.limiter("api", ["gcra 100/s"])?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "layers")]
    #[must_use]
    pub fn layered(store: Arc<LayeredStore>) -> Arc<AnyStore> {
        let layers = Some(Arc::clone(&store));
        Arc::new(AnyStore { layers, ..AnyStore::of(store, Arc::default(), true) })
    }

    /// Returns the layers around the store; `None` if it has none, as a store in memory.
    #[cfg(feature = "layers")]
    #[must_use]
    pub fn layers(&self) -> Option<&LayeredStore> {
        self.layers.as_deref()
    }

    fn of(store: Arc<dyn Store>, shared: Arc<Shared>, is_remote: bool) -> AnyStore {
        AnyStore {
            store,
            shared,
            is_remote,
            #[cfg(feature = "layers")]
            layers: None,
        }
    }

    /// Wraps a store in memory, for code that takes a `Limiter<AnyStore>`. Limiters on either share their
    /// names and their queues of waiters.
    ///
    /// ```
    /// use tollgate::{AnyStore, Clock, MemoryStore};
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let memory = MemoryStore::builder().clock(Clock::manual()).build()?;
    /// let limiter = AnyStore::memory(memory).limiter("api", ["gcra 1/s burst 1"])?;
    /// assert!(limiter.check("a").await?.allowed);
    /// # Ok(())
    /// # }
    /// # futures_executor::block_on(example()).unwrap();
    /// ```
    #[must_use]
    pub fn memory(store: Arc<MemoryStore>) -> Arc<AnyStore> {
        let shared = Arc::clone(store.shared());
        Arc::new(AnyStore::of(store, shared, false))
    }
}

impl Store for AnyStore {
    fn apply<'a>(
        &'a self,
        ops: &'a [Op<'a>],
        at: Option<Time>,
        out: &'a mut [Result<Decision, StoreError>],
    ) -> Apply<'a> {
        self.store.apply(ops, at, out)
    }

    fn joins(&self, op: &Op<'_>) -> bool {
        self.store.joins(op)
    }
}

impl LimiterStore for AnyStore {}

impl Sealed for AnyStore {
    fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    fn is_remote(&self) -> bool {
        self.is_remote
    }

    fn prepared(self: &Arc<Self>, _policy: &Policy) -> Prepared {
        Prepared::default()
    }
}

impl fmt::Debug for AnyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyStore").field("is_remote", &self.is_remote).finish_non_exhaustive()
    }
}
