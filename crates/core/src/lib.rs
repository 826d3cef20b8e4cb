//! Tollgate's decisions: every rate limiting algorithm under one contract, exact and pure.
//!
//! ```
//! use tollgate_core::{Act, Key, Name, Op, PlainStore, Policy, Span, Time};
//!
//! let api = Policy::parse(Name::new("api")?, ["gcra 1/s burst 5", "fixed-window 1000/day"])?;
//! let store = PlainStore::default();
//! let items = api.items(|_| Key::new(b"203.0.113.9").ok())?;
//! let check = Op { policy: api.name(), items: &items, act: Act::Check, cost: 5, id: None };
//!
//! let noon = Time::from_micros(1_700_000_000_000_000).unwrap();
//! assert!(store.apply_one(&check, noon)?.allowed);
//! let denied = store.apply_one(&check, noon)?;
//! assert!(!denied.allowed);
//! assert_eq!(denied.retry_after, Some(Span::from_micros(5_000_000)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it guarantees
//!
//! * **Pure.** No clock, no I/O, no unsafe code. Time is an argument: the same operations at the
//!   same instants give the same answers.
//! * **Exact.** Whole numbers of microseconds and fractions kept as fractions; no error
//!   accumulates. `remaining` is what would pass now, `retry_after` is enough and no more.
//! * **All or nothing.** The limits of a policy are charged together or not at all, and a denied
//!   check changes nothing.
//! * **Bounded.** Every number of a [`Limit`] is checked when it is made. Nothing panics.
//!
//! # Limits
//!
//! Times reach to the year 2112, no debt lasts longer than 71 years, keys have at most
//! [`MAX_KEY_BYTES`] bytes and costs are at most [`MAX_COST`].
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `contract` | the module `contract`: the laws as a test suite that any [`Store`] can run |

#![forbid(unsafe_code)]
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

mod act;
#[cfg(feature = "contract")]
pub mod contract;
mod decimal;
mod decision;
mod error;
mod ids;
mod limit;
mod operation;
mod plain;
mod policy;
mod remote;
mod rule;
mod store;
mod subject;
mod time;
mod wide;
mod words;

pub use act::Act;
pub use decimal::{Decimal, ParseDecimalError};
pub use decision::Decision;
pub use error::{LimitError, StoreError};
pub use ids::{IdempotencyCache, Scope};
pub use limit::{Algorithm, Edge, Limit, Period, Rate, Spec, Unit, Zone};
pub use operation::{Item, MAX_COST, Op};
pub use plain::PlainStore;
pub use policy::{MissingKey, Outcome, Policy, decide};
pub use remote::{RemoteState, RuleParams, remote_decision};
pub use rule::{
    Capacity, Checked, MAX_COUNT, MAX_RESERVATIONS, Packed, RESERVATION_TTL, State, Terms,
};
pub use store::{Apply, Store};
pub use subject::{
    Id, InvalidKey, Key, MAX_ID_BYTES, MAX_KEY_BYTES, MAX_NAME_BYTES, Name, Subject,
};
pub use time::{Span, Time};
pub use words::did_you_mean;
