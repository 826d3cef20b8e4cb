//! The rate limiting algorithms of Tollgate under one contract, as pure and exact functions.
//!
//! ```
//! use tollgate_core::{Act, Name, PlainStore, Policy, Request, Span, Time};
//!
//! let api = Policy::parse(Name::new("api")?, ["gcra 1/s burst 5", "fixed-window 1000/day"])?;
//! let store = PlainStore::default();
//! let noon = Time::from_micros(1_700_000_000_000_000).unwrap();
//!
//! let request = Request::of("203.0.113.9").cost(5);
//! let check = || request.with_op(&api, Act::Check, |op| store.apply_one(op, noon));
//! assert!(check()??.allowed);
//! let denied = check()??.into_result().unwrap_err();
//! assert_eq!(denied.retry_after(), Some(Span::from_micros(5_000_000)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it guarantees
//!
//! * **Pure.** No clock, no I/O, no unsafe code. Time is an argument: the same operations at the
//!   same instants give the same decisions.
//! * **Exact.** Times are whole microseconds and fractions are kept as fractions, so that no error
//!   accumulates. `remaining` is what would be allowed now; `retry_after` is enough, and no more.
//! * **All or nothing.** The limits of a policy are charged together or not at all, and a denied
//!   check changes nothing.
//! * **Bounded.** Every number of a [`Limit`] is checked when it is created. Nothing panics.
//!
//! # Limits
//!
//! Times end in the year 2112, no debt takes longer than 71 years to drain, keys have at most
//! [`MAX_KEY_BYTES`] bytes, and costs are at most [`MAX_COST`].
//!
//! # Modules
//!
//! The root has what users of limits and protocols need. [`storage`] and [`remote`] are for authors
//! of a [`Store`].
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `contract` | the module `contract`: a test suite that any [`Store`] can run |

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

mod act;
mod compact_decision;
#[cfg(feature = "contract")]
pub mod contract;
mod decide;
mod decimal;
mod decision;
mod error;
mod few;
mod idempotency;
mod into_key;
mod limit;
mod operation;
mod plain;
mod policy;
pub mod remote;
mod request;
mod rule;
mod sealed;
pub mod storage;
mod store;
mod subject;
mod suggest;
mod time;
mod walked;
mod wide;

pub use act::{Act, MAX_COST};
pub use decimal::{Decimal, ParseDecimalError};
pub use decision::{Allowed, Decision, Denied, LimitStatus, LimitStatuses, Source};
pub use error::{LimitError, StoreError};
pub use into_key::{IntoKey, KeyBytes};
pub use limit::{Algorithm, Edge, Limit, Period, PeriodUnit, Rate, Spec, Zone};
pub use operation::{Item, Op};
pub use plain::PlainStore;
pub use policy::Policy;
pub use request::{
    Items, MissingKey, OwnedRequest, Request, RequestError, item_of_key, push_items_of_key,
};
pub use rule::MAX_ENTRIES;
pub use store::{Apply, MAX_COALESCED, Store, apply_one};
pub use subject::{
    Id, InvalidKey, Key, MAX_ID_BYTES, MAX_KEY_BYTES, MAX_NAME_BYTES, Name, Subject,
};
pub use suggest::did_you_mean;
pub use time::{Span, Time};
