//! What a decision says over HTTP: header fields in eight dialects, and problem bodies.
//!
//! ```
//! use tollgate_core::{Act, Key, Name, Op, PlainStore, Policy, Time};
//! use tollgate_http::{Dialect, RateLimitHeaders};
//!
//! let login = Policy::parse(Name::new("login")?, ["gcra 10/min"])?;
//! let items = login.items(|_| Key::new(b"203.0.113.9").ok())?;
//! let check = Op { policy: login.name(), items: &items, act: Act::Check, cost: 4, id: None };
//! let decision = PlainStore::default().apply_one(&check, Time::EPOCH)?;
//!
//! let mut head = Vec::new();
//! RateLimitHeaders::new(&login, &decision, Time::EPOCH)
//!     .fields(Dialect::Ietf, |name, value| head.push(format!("{name}: {value}")));
//! assert_eq!(head, [r#"ratelimit: "login";r=6;t=24"#, r#"ratelimit-policy: "login";q=10;w=60"#]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! There is no I/O and no HTTP library here, only names and values, so that any server can send
//! them. A denial has a body too: see [`Problem`].
//!
//! # What it guarantees
//!
//! * **Waits round up.** Whoever obeys `retry-after` is admitted, if nobody else comes. It is at
//!   least one second, and never shorter than the `t` that stands beside it.
//! * **Quotas round down.** `r` would pass now, and no rounding makes of `q` in `w` seconds more
//!   than the limit grants.
//! * **One line for each field,** with a lower-case name. Proxies that keep only the first or the
//!   last of several lines lose nothing.
//! * **Nothing can be injected.** A [`Name`](tollgate_core::Name) has only characters that need no
//!   quoting, keys are never headers, and all text of a problem is escaped.
//! * **Calm.** Nothing panics, and all fields are put together in one small buffer.
//!
//! # Limits
//!
//! * Whole seconds: a window shorter than one is told as the quota of a second.
//! * A structured field holds 15 digits; greater numbers are told as 999,999,999,999,999.
//! * Only the limit that binds is told with its numbers, since a
//!   [`Decision`](tollgate_core::Decision) knows no others. `ratelimit-policy` lists them all.
//! * Waits are exact, so many clients that are told the same may come back at once. Whoever fears
//!   that may add some chance to what `fields` hands out.
//!
//! # Links
//!
//! * [draft-ietf-httpapi-ratelimit-headers][draft]: `ratelimit` and `ratelimit-policy`
//! * [RFC 9651](https://www.rfc-editor.org/rfc/rfc9651): structured fields
//! * [RFC 9457](https://www.rfc-editor.org/rfc/rfc9457): problem details
//! * [RFC 9110, section 10.2.3](https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3):
//!   `retry-after`
//! * [`tollgate_core`](https://docs.rs/tollgate-core): the decisions
//!
//! [draft]: https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/

#![forbid(unsafe_code)]
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

mod dialect;
mod fields;
mod headers;
pub mod json;
mod limit_name;
mod number;
mod problem;
mod quota;
mod structured;
mod write;

pub use dialect::{Dialect, ParseDialectError};
pub use headers::RateLimitHeaders;
pub use problem::Problem;
