//! An exact, fast rate limiter: in one process without a server, or in many over Redis.
//!
//! ```
//! let limiter: tollgate::Limiter = "gcra 50/s burst 100".parse()?;
//! let decision = limiter.check("203.0.113.9")?;
//! assert!(decision.allowed && decision.remaining == Some(99));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This is one limit for each key, and a [`Decision`] with the numbers for the client.
//!
//! # Many processes
//!
//! With the feature `redis`, any number of processes count together over Redis, Valkey or Redis Cluster.
//! The store is a URL, `memory:` among them; every operation has the same name, and is awaited:
//!
//! ```
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let url = std::env::var("TOLLGATE_STORE").unwrap_or_else(|_| "memory:".into());
//! let store = tollgate::open(&url).await?;
//! let login = store.limiter("login", ["gcra 1/s burst 5 per ip", "fixed-window 100/day per user"])?;
//! let decision = login.keys(&[("ip", "203.0.113.9"), ("user", "42")]).check().await?;
//! assert!(decision.allowed);
//! # Ok(())
//! # }
//! ```
//!
//! A [`Limiter`] is on a [`MemoryStore`] unless you say otherwise. [`open`] creates an [`AnyStore`], on
//! which its type is `Limiter<AnyStore>`.
//!
//! Around a remote store stand layers (module `layers`). They answer denied keys in this process, send checks
//! of one key that wait together as one call, and keep a store that is down or slow from stopping your
//! service: after 20 ms a check is allowed, or decided by this process alone, or fails, as you
//! [choose](Limiter::with_on_failure). [`Decision::degraded`] tells such a decision from others.
//!
//! # Waits and leases
//!
//! Before a call to a partner that allows 50 calls a second and 10 at once, wait for both:
//!
//! ```
//! use std::time::Duration;
//! use tollgate::Limiter;
//!
//! let partner = Limiter::parse(["gcra 50/s burst 10", "concurrency 10 ttl 30s"])?;
//! let lease = partner.key("acme").blocking_lease_within(Duration::from_secs(2))?;
//! // Call the partner. Dropping the lease lets the next one in.
//! drop(lease);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! In async code, and on every store, it is `lease_within(timeout).await`.
//!
//! # Tests
//!
//! Time is an argument, so tests do not sleep:
//!
//! ```
//! use std::time::Duration;
//! use tollgate::{Clock, MemoryStore};
//!
//! let clock = Clock::manual();
//! let store = MemoryStore::builder().clock(clock.clone()).build()?;
//! let limiter = store.limiter("api", ["gcra 1/s burst 1"])?;
//! assert!(limiter.check("a")?.allowed);
//! assert!(!limiter.check("a")?.allowed);
//! clock.advance(Duration::from_secs(1));
//! assert!(limiter.check("a")?.allowed);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What to call
//!
//! | task | code |
//! |---|---|
//! | Use another algorithm | Another [limit line](Limit): `"sliding-window 100/min"`, `"fixed-window 1000/day tz Europe/Amsterdam"`, `"concurrency 20 ttl 30s"` |
//! | Make a limit without a line | [`Limit::gcra`]`(`[`Rate::per_second`]`(100), 200)` |
//! | Check several limits, all or nothing | [`Limiter::parse`]`(["gcra 10/s", "fixed-window 1000/day"])` |
//! | Limit per address, per user and in total | `"gcra 1/s per ip"`, `"gcra 5000/s per all"`, and [`Limiter::subject`] or [`Limiter::keys`] |
//! | Limit requests and tokens, or requests and bytes | `"gcra 90000/min of tokens"` and [`Request::cost_of`] |
//! | Take another cost, refund, charge, reserve and settle | `limiter.key("a").cost(5).check()`; [`Request`] has all operations |
//! | Turn a denial into an error | [`Decision::into_result`] |
//! | See each limit, not only the one that binds | [`Request::statuses`] |
//! | Retry safely | [`Request::id`] |
//! | Check many keys at once | `limiter.check_many(keys, &mut decisions)` |
//! | Wait until a check passes | [`Request::check_within`], or `blocking_check_within` |
//! | Limit concurrency | `limiter.key("db").lease()`, which is released when dropped; [`Request::lease_within`] waits for it |
//! | Keep a lease during long work | [`Lease::renew_while`] |
//! | Share limits between processes | [`open`] |
//! | Choose what happens when the store is down | [`Limiter::with_on_failure`] |
//! | Have several limiters in one memory | `store.limiter(name, limits)` |
//! | Bound memory, or keep counts over a restart | [`MemoryStore::builder`], [`MemoryStore::save`] |
//! | Change limits while they are in use | [`Limiter::with_limits`] |
//! | Test your code | [`Clock::manual`], [`Request::at`] |
//!
//! # Guarantees
//!
//! * **Exact.** N concurrent checks, from any number of threads or processes, are allowed exactly as
//!   often as N checks one after the other. `remaining` is the largest cost that would pass now;
//!   `retry_after` is the shortest wait that suffices. No error accumulates, at any rate from one per
//!   week to ten million per second. Every store gives the same answers.
//! * **All or nothing.** The limits of a policy are charged together or not at all. A denied check
//!   changes nothing.
//! * **Bounded.** A memory store never holds more states than
//!   [`max_keys`](MemoryStoreBuilder::max_keys), in [`max_memory`](MemoryStoreBuilder::max_memory), and a flood of new keys never refills an exhausted one.
//!   Keys are 1 to 1,024 bytes.
//! * **No surprises.** No input causes a panic. In memory, a check of a known key does not allocate if its
//!   state has a fixed size, and mostly does not even lock if `check` denies the key again and again. The
//!   library starts no thread, except one timer thread for all callers when the first of them waits.
//!
//! # Limitations
//!
//! * A check over Redis is a round trip, unless it is denied again or joins others of the same key.
//! * While the store is unavailable, only checks and peeks are decided, and no leases: every other operation
//!   is an [`Error`].
//! * If a policy counts several subjects on different nodes of a Redis Cluster, a check may be denied
//!   because of another that is in flight. It is never allowed wrongly.
//! * Waiters are served in the order of their arrival within a process. Between processes no order is
//!   promised.
//! * `blocking_check_within` and `blocking_lease_within` are for memory only.
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `quanta` | yes | The processor's time stamp counter as a clock: a check takes a third less time |
//! | `redis` | no | Redis, Valkey, Sentinel and Redis Cluster as stores, with layers. They need a tokio runtime |
//! | `layers` | no | Layers around a remote store of your own. Part of `redis` |
//! | `tokio` | no | Leases on a store of your own are released in the background of a tokio runtime. Part of `layers` |
//!
//! Waits need no feature and no runtime.
//!
//! The algorithms and their laws are those of [`tollgate_core`](https://docs.rs/tollgate-core).

#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(clippy::indexing_slicing)]

mod any_store;
mod background;
mod check;
mod clock;
mod enforce;
mod error;
mod hash;
mod in_flight;
#[cfg(feature = "layers")]
pub mod layers;
mod lease;
mod limiter;
mod limiter_store;
mod lock;
mod memory;
mod open;
mod percentage;
mod queues;
mod request;
mod shared;
mod wait;

pub use any_store::AnyStore;
pub use clock::Clock;
pub use enforce::{Enforce, ParseEnforceError};
pub use error::Error;
pub use lease::Lease;
pub use limiter::{Limiter, LimiterError};
pub use limiter_store::LimiterStore;
pub use memory::{
    BuildError, MemoryShare, MemoryStore, MemoryStoreBuilder, Prepared, SnapshotError, StoreStats,
    WhenFull,
};
#[cfg(feature = "redis")]
pub use open::open_with;
pub use open::{OpenError, open};
pub use percentage::{ParsePercentageError, Percentage};
pub use request::Request;
pub use tollgate_core::{
    Act, Algorithm, Allowed, Apply, Decimal, Decision, Denied, Edge, Id, IntoKey, InvalidKey, Item,
    Key, KeyBytes, Limit, LimitError, LimitStatus, LimitStatuses, MAX_COST, MAX_ENTRIES,
    MAX_ID_BYTES, MAX_KEY_BYTES, MAX_NAME_BYTES, MissingKey, Name, Op, ParseDecimalError, Period,
    PeriodUnit, Policy, Rate, RequestError, Source, Span, Spec, Store, StoreError, Subject, Time,
    Zone,
};
#[cfg(feature = "redis")]
pub use tollgate_redis::{ConnectError, InvalidUrl, MAX_LIMITS, RedisStore, RedisStoreBuilder};

/// Runs the examples of the guide as tests.
#[cfg(all(doctest, feature = "layers"))]
#[doc = include_str!("../../../docs/library.md")]
struct Guide;

/// Runs the examples of the page on language models as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/language-models.md")]
struct LanguageModels;

/// Runs the examples of the page on many servers as tests.
#[cfg(all(doctest, feature = "redis"))]
#[doc = include_str!("../../../docs/many-servers.md")]
struct ManyServers;

/// Runs the examples of the page on Redis as tests. Here, since they need this crate.
#[cfg(all(doctest, feature = "redis"))]
#[doc = include_str!("../../../docs/redis.md")]
struct Redis;
