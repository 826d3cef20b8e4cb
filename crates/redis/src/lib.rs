//! Rate limits that many processes share over Redis, Valkey, Sentinel or Redis Cluster, in one round trip.
//!
//! This is the store alone. The limiter of the crate `tollgate` asks it, as it asks any other store; without
//! the limiter, apply operations yourself:
//!
//! ```no_run
//! use tollgate_core::{Act, Name, Policy, Request};
//! use tollgate_redis::RedisStore;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let store = RedisStore::connect("redis://127.0.0.1:6379").await?;
//! let api = Policy::parse(Name::new("api")?, ["gcra 100/s burst 200", "fixed-window 1000000/month"])?;
//!
//! let request = Request::of("customer-42").cost(5);
//! let items = request.items(api.limits())?;
//! let check = request.op(api.name(), &items, Act::Check)?;
//! if store.apply_one(&check, None).await?.allowed {
//!     // Handle the request.
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Guarantees
//!
//! * **The same decisions as in memory,** to the microsecond, for every operation of
//!   [`Store`](tollgate_core::Store). The server's clock decides; the clocks of the clients do not matter.
//! * **One script call for each operation,** whatever the limits. Operations that are applied together share
//!   a pipeline.
//! * **Nothing is counted twice, and nothing passes uncounted.** A call that got no reply is never sent again
//!   by the store.
//! * **Every key expires,** a second after its limits have reset.
//!
//! # Limits
//!
//! * An operation has at most [`MAX_LIMITS`] limits.
//! * In a cluster, an operation whose subjects live in different slots takes several round trips. It may be
//!   denied because of a concurrent operation that is rolled back; it is never admitted wrongly.
//!
//! # When a server fails
//!
//! * **No reply, or no connection:** the operation is an error
//!   ([`is_unavailable`](tollgate_core::StoreError::is_unavailable)). Whether it was counted is not known; with
//!   an id you can safely retry. The next operation connects again.
//! * **Restart or `SCRIPT FLUSH`:** the scripts are sent again by themselves.
//! * **Failover:** the store follows the new primary (Sentinel, Cluster). Replication is asynchronous, so that
//!   a promoted replica may not have the newest checks: they are lost.
//!
//! # URLs
//!
//! | URL | store |
//! |---|---|
//! | `redis://[user:password@]host:port[/database]` | one server |
//! | `redis+cluster://host:port,host:port` | Redis Cluster: some of its cluster nodes |
//! | `redis+sentinel://host:port,host:port/name` | the primary that the sentinels know by that name |
//! | `rediss://…`, `rediss+cluster://…`, `rediss+sentinel://…` | the same over TLS |

#![forbid(unsafe_code)]

mod call;
mod clear;
mod connect;
mod connection;
mod cross_slot;
mod decimal;
mod format;
mod script;
mod shape;
mod store;

pub use connect::{ConnectError, RedisStoreBuilder};
pub use connection::target::InvalidUrl;
#[doc(hidden)]
pub use script::steps::STEPS_KEY;
pub use shape::MAX_LIMITS;
pub use store::RedisStore;
