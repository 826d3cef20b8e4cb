//! An exact, fast rate limiter: in process, with no server.
//!
//! ```
//! let limiter: tollgate::Limiter = "gcra 50/s burst 100".parse()?;
//! let decision = limiter.check("203.0.113.9")?;
//! assert!(decision.allowed && decision.remaining == Some(99));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This is one limit for each key, and a [`Decision`] with the numbers for the client. Other tasks:
//!
//! | task | code |
//! |---|---|
//! | Use another algorithm | Another [limit line](Limit): `"sliding-window 100/min"`, `"fixed-window 1000/day tz Europe/Amsterdam"`, `"concurrency 20 ttl 30s"` |
//! | Check several limits, all or nothing | [`Limiter::parse`]`(["gcra 10/s", "fixed-window 1000/day"])` |
//! | Limit per address, per user and in total | `"gcra 1/s per ip"`, `"gcra 5000/s per all"`, and [`Limiter::keys`] |
//! | Take a cost other than 1 | `limiter.key("a").cost(5).check()`; [`Request`] has all operations |
//! | Check many keys at once | [`Limiter::check_many`] |
//! | Wait until a check passes | `limiter.key("partner").until_ready(timeout).await`, or `.wait(timeout)` |
//! | Limit concurrency | `limiter.key("db").lease()`, which is released when dropped |
//! | Bound memory, or keep counts over a restart | [`MemoryStore::builder`], [`MemoryStore::save`] |
//! | Test your code | [`Clock::manual`] |
//!
//! # Guarantees
//!
//! * **Exact.** N concurrent checks, from any number of threads, are allowed exactly as often as N
//!   checks one after the other. `remaining` is the largest cost that would pass now; `retry_after` is
//!   the shortest wait that suffices. No error accumulates, at any rate from one per week to ten
//!   million per second.
//! * **All or nothing.** The limits of a policy are charged together or not at all. A denied check
//!   changes nothing.
//! * **Bounded.** A store never holds more states than [`max_keys`](MemoryStoreBuilder::max_keys), and
//!   a flood of new keys never refills an exhausted one. Keys are 1 to 1,024 bytes.
//! * **No surprises.** No input causes a panic. A check of a known key does not allocate if its state
//!   has a fixed size, and mostly does not even lock if [`check`](Limiter::check) denies the key again
//!   and again. The library starts no thread, except one timer thread for all callers when the first
//!   of them waits.
//!
//! # Limitations
//!
//! The state is in this process. Processes that must share a limit need a shared store.
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `quanta` | yes | The processor's time stamp counter as a clock: a check takes a third less time |
//! | `wait` | yes | `until_ready` and `wait` |
//!
//! The algorithms and their laws are those of [`tollgate_core`](https://docs.rs/tollgate-core).

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

/// Runs the examples of the guide as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct Guide;
