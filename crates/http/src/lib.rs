//! Rate limit decisions over HTTP: header fields in eight dialects, problem bodies and JSON.
//!
//! ```
//! use tollgate_core::{Act, Name, PlainStore, Policy, Request, Time};
//! use tollgate_http::{Dialect, RateLimitHeaders};
//!
//! let login = Policy::parse(Name::new("login")?, ["gcra 10/min"])?;
//! let (store, request) = (PlainStore::default(), Request::of("203.0.113.9").cost(4));
//! let decision = request.with_op(&login, Act::Check, |op| store.apply_one(op, Time::EPOCH))??;
//!
//! let mut head = Vec::new();
//! RateLimitHeaders::new(&login, &decision, Time::EPOCH)
//!     .fields(Dialect::Ietf, |name, value| head.push(format!("{name}: {value}")));
//! assert_eq!(head, [r#"ratelimit: "login";r=6;t=24"#, r#"ratelimit-policy: "login";q=10;w=60"#]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This crate does no I/O and uses no HTTP library: it produces names and values that any server
//! can send. [`Problem`] is the body of a denial, [`json`] a decision in JSON.
//!
//! # Guarantees
//!
//! * **Waits round up.** A client that waits for `retry-after` is admitted, unless other requests
//!   with the same key come first. `retry-after` is at least one second, and never shorter than
//!   the `t` of the same response.
//! * **Quotas round down.** A check of cost `r` would pass now, and rounding never makes `q` in `w`
//!   seconds more than the limit grants.
//! * **One line for each field,** with a lower-case name. Proxies that keep only the first or the
//!   last line of a repeated field lose nothing.
//! * **Nothing can be injected.** A [`Name`](tollgate_core::Name) has only characters that need no
//!   quoting, keys are never written to headers, and all text of a problem is escaped.
//! * **No panics, few allocations.** All fields are built in one small buffer.
//!
//! # Limits
//!
//! * Times are whole seconds: a window shorter than a second is written as the quota of one second.
//! * An integer in a structured field has at most 15 digits; greater numbers are written as
//!   999,999,999,999,999.
//! * `ratelimit` has the numbers of the binding limit only, since a
//!   [`Decision`](tollgate_core::Decision) has no others. `ratelimit-policy` lists all limits.
//! * Waits are exact, so many clients with the same wait may come back at the same moment. To
//!   prevent that, add jitter to the values that `fields` passes on.
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
mod network;
mod number;
mod problem;
mod quota;
mod structured;
mod write;

pub use dialect::{Dialect, ParseDialectError};
pub use headers::RateLimitHeaders;
pub use network::{Network, ParseNetworkError};
pub use problem::Problem;
