//! Limits that many servers share, over Redis, Valkey or Redis Cluster: every algorithm, any list of
//! limits, one round trip.
//!
//! ```no_run
//! use tollgate_core::{Name, Policy};
//! use tollgate_redis::RedisStore;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let store = RedisStore::connect("redis://127.0.0.1:6379").await?;
//! let api = Policy::parse(Name::new("api")?, ["gcra 100/s burst 200", "fixed-window 1000000/month"])?;
//! if store.check(&api, "customer-42").await?.allowed {
//!     // serve it
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # What it promises
//!
//! * **The same answers as in memory,** to the microsecond, for every operation of
//!   [`Store`](tollgate_core::Store). The server's own clock decides, so that no other clock matters.
//! * **One script call for each operation,** whatever the limits; several operations in one call share
//!   a pipeline. A server that was restarted or flushed learns its scripts again by itself.
//! * **Nothing is counted twice and nothing passes uncounted.** A call that got no answer is an error
//!   ([`is_unavailable`](tollgate_core::StoreError::is_unavailable)), and is never sent again; with an id
//!   you can.
//! * **Every key has an end,** a second after its limits have reset.
//!
//! What a failover loses is lost: replication is asynchronous, so a promoted replica may not have seen
//! the newest checks.
//!
//! # URLs
//!
//! | | |
//! |---|---|
//! | `redis://[user:password@]host:port[/database]` | one server |
//! | `redis+cluster://host:port,host:port` | Redis Cluster: some of its nodes |
//! | `redis+sentinel://host:port,host:port/name` | whoever sentinels say is the primary |
//! | `rediss://…`, `rediss+cluster://…`, `rediss+sentinel://…` | the same over TLS |

#![forbid(unsafe_code)]

mod call;
mod check;
mod clear;
mod connect;
mod connection;
mod cross_slot;
mod script;
mod store;

pub use call::shape::MAX_LIMITS;
pub use connect::{ConnectError, RedisStoreBuilder};
pub use connection::target::InvalidUrl;
pub use store::RedisStore;
