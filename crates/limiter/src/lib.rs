//! Says "this much, no more", per key: exact, fast, and with no server.
//!
//! ```
//! let limiter: tollgate::Limiter = "gcra 50/s burst 100".parse()?;
//! let decision = limiter.check("203.0.113.9")?;
//! assert!(decision.allowed && decision.remaining == Some(99));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! That is a limit for each key, with the numbers a client should be told. From here:
//!
//! | you want | you write |
//! |---|---|
//! | another algorithm | another [line](Limit): `"sliding-window 100/min"`, `"fixed-window 1000/day tz Europe/Amsterdam"`, `"concurrency 20 ttl 30s"` |
//! | several limits, all or nothing | [`Limiter::parse`]`(["gcra 10/s", "fixed-window 1000/day"])` |
//! | limits per address, user and all | `"gcra 1/s per ip"`, `"gcra 5000/s per all"`, and [`Limiter::keys`] |
//! | a cost other than 1 | `limiter.key("a").cost(5).check()`; see [`Request`] for all operations |
//! | many keys at once | [`Limiter::check_many`] |
//! | to wait for your turn | `limiter.key("partner").until_ready(longest).await`, or `.wait(longest)` |
//! | at most so many at once | `limiter.key("db").lease()`, which gives back what it holds when dropped |
//! | a bound on memory, or a restart that forgets nothing | [`MemoryStore::builder`], [`MemoryStore::save`] |
//! | to test it | [`Clock::manual`] |
//!
//! # What it guarantees
//!
//! * **Exact.** N callers at once, from any number of threads, are admitted exactly as often as one
//!   caller who asked N times. `remaining` is what would pass now; `retry_after` is enough, and no
//!   more. No error accumulates, at any rate from one a week to ten million a second.
//! * **All or nothing.** The limits of a policy are charged together or not at all. A denied check
//!   changes nothing.
//! * **Bounded.** A store never holds more states than [`max_keys`](MemoryStoreBuilder::max_keys), and a flood
//!   of new keys never refills an exhausted one. Keys are 1 to 1,024 bytes.
//! * **Calm.** No panic that a caller could reach, no allocation for a check of a key that is known, if
//!   its state has a fixed size; and mostly not even a lock for one that [`check`](Limiter::check)
//!   denies again and again. No thread of its own, unless someone waits: the first who does starts one
//!   timer for all.
//!
//! # What it does not do
//!
//! State lives in this process. Two processes that must share a limit need a shared store.
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `quanta` | yes | the processor's time stamp counter as a clock: a check takes a third less time |
//! | `wait` | yes | `until_ready` and `wait` |
//!
//! The algorithms and the laws they keep are those of
//! [`tollgate_core`](https://docs.rs/tollgate-core).

#![warn(clippy::indexing_slicing)]

mod clock;
mod enforce;
mod error;
mod keys;
mod lease;
mod limiter;
mod memory;
#[cfg(feature = "wait")]
mod queues;
mod request;
#[cfg(feature = "wait")]
mod wait;

pub use clock::Clock;
pub use enforce::{Enforce, ParseEnforceError, Percentage};
pub use error::Error;
pub use lease::{Lease, Leased};
pub use limiter::Limiter;
pub use memory::{
    BuildError, MemoryStore, MemoryStoreBuilder, SnapshotError, StoreStats, WhenFull,
};
pub use request::Request;
pub use tollgate_core::{
    Decimal, Decision, Limit, LimitError, Name, Policy, Span, StoreError, Time,
};

/// The examples of the guide are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct Guide;
