//! Opens the store that a URL names.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::any_store::AnyStore;

/// Opens the store that a URL names, with its default settings.
///
/// | URL | store |
/// |---|---|
/// | `memory:` | the memory of this process |
/// | `redis://host:port`, `rediss://…` | Redis or Valkey, without or with TLS |
/// | `redis+cluster://host:port,…` | Redis Cluster |
/// | `redis+sentinel://host:port,…/name` | the primary that the sentinels know by that name |
///
/// All but `memory:` need the feature `redis`, and a tokio runtime. They have the default
/// [layers](crate::layers) around them: denied keys are answered in this process, checks of one key that wait
/// together are one call, and a store that fails or takes longer than 20 ms does not stop your service: its
/// limiters allow what they cannot decide, unless you choose [otherwise](crate::Limiter::with_on_failure).
///
/// For other settings use `open_with`, or build a `RedisStore` or a [`MemoryStore`](crate::MemoryStore) and wrap
/// it with [`AnyStore::new`] or [`AnyStore::memory`].
///
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let store = tollgate::open("memory:").await?;
/// let api = store.limiter("api", ["gcra 100/s burst 200"])?;
/// assert_eq!(api.check("customer-7").await?.remaining, Some(199));
/// # Ok(())
/// # }
/// # futures_executor::block_on(example()).unwrap();
/// ```
///
/// # Errors
/// Fails if the URL is invalid, or the server does not respond.
pub async fn open(url: &str) -> Result<Arc<AnyStore>, OpenError> {
    match url {
        MEMORY => Ok(AnyStore::memory(Arc::default())),
        url => open_remote(url).await,
    }
}

/// Opens the store that a URL names, with these layers around it if it is remote.
///
/// ```
/// use std::time::Duration;
/// use tollgate::layers::{Layers, OnFailure};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let layers = Layers::new().timeout(Duration::from_millis(50)).nodes(4);
/// let store = tollgate::open_with("memory:", layers).await?;
/// let login = store.limiter("login", ["gcra 1/s burst 5"])?.with_on_failure(OnFailure::Deny);
/// assert!(login.check("203.0.113.9").await?.allowed);
/// # Ok(())
/// # }
/// # futures_executor::block_on(example()).unwrap();
/// ```
///
/// # Errors
/// Fails as [`open`] does.
#[cfg(feature = "redis")]
pub async fn open_with(
    url: &str,
    layers: crate::layers::Layers,
) -> Result<Arc<AnyStore>, OpenError> {
    if url == MEMORY {
        return Ok(AnyStore::memory(Arc::default()));
    }
    let store = tollgate_redis::RedisStore::builder(url);
    match store.response_timeout(layers.response_timeout()).connect().await {
        Ok(store) => Ok(AnyStore::layered(layers.around(Arc::new(store)))),
        Err(error) => Err(OpenError(Kind::Redis(error))),
    }
}

/// The URL of a store in memory.
const MEMORY: &str = "memory:";

#[cfg(feature = "redis")]
async fn open_remote(url: &str) -> Result<Arc<AnyStore>, OpenError> {
    open_with(url, crate::layers::Layers::default()).await
}

#[cfg(not(feature = "redis"))]
async fn open_remote(url: &str) -> Result<Arc<AnyStore>, OpenError> {
    let scheme = url.split(':').next().unwrap_or_default();
    let is_redis = ["redis", "rediss"].iter().any(|name| scheme.starts_with(name));
    Err(OpenError(if is_redis { Kind::NoRedis } else { Kind::Url }))
}

/// The error of a store that cannot be opened.
#[derive(Debug, Clone)]
pub struct OpenError(Kind);

#[derive(Debug, Clone)]
enum Kind {
    #[cfg(feature = "redis")]
    Redis(tollgate_redis::ConnectError),
    #[cfg(not(feature = "redis"))]
    NoRedis,
    #[cfg(not(feature = "redis"))]
    Url,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            #[cfg(feature = "redis")]
            Kind::Redis(error) => error.fmt(f),
            #[cfg(not(feature = "redis"))]
            Kind::NoRedis => f.write_str("Redis needs the feature \"redis\" of the crate tollgate"),
            // Without the URL, which may contain a password.
            #[cfg(not(feature = "redis"))]
            Kind::Url => {
                f.write_str("invalid URL of a store; expected memory: or redis://host:port")
            }
        }
    }
}

impl Error for OpenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            #[cfg(feature = "redis")]
            Kind::Redis(error) => error.source(),
            #[cfg(not(feature = "redis"))]
            Kind::NoRedis | Kind::Url => None,
        }
    }
}
