//! The Tollgate server: rate limits over HTTP and the Redis protocol (RESP), in memory or on Redis.
//!
//! ```no_run
//! use tollgate_server::Server;
//!
//! # fn main() -> std::io::Result<()> {
//! let server = Server::builder().resp("127.0.0.1:6380".parse().unwrap()).start()?;
//! println!("redis-cli -p {} CL.THROTTLE user-42 15 30 60", server.resp().unwrap().port());
//! # Ok(())
//! # }
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod config;
mod engine;
mod error;
#[cfg(any(test, fuzzing))]
mod feed;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
mod http;
mod limits;
mod log_throttle;
mod metrics;
mod net;
mod policy;
mod resp;
mod server;
mod trace;

pub use config::{
    Config, Diagnostic, Listen, Override, OverrideLimits, ParseListenError, PolicyConfig,
    ServerConfig, StoreConfig,
};
pub use limits::{HttpLimits, RespLimits};
pub use server::{Server, ServerBuilder};
// The types of other crates that this API names.
pub use tollgate::layers::{Distribution, LayeredStore, OnFailure};
pub use tollgate::{Decimal, Enforce, Limit, MemoryStore, Name, Policy, Store, WhenFull};
pub use tollgate_http::Dialect;

/// The examples of the README are tests. This crate depends on all that they use.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
