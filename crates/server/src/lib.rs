//! A rate limiter for the protocols people already have: any Redis client can ask it.
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

#![forbid(unsafe_code)]

mod config;
mod engine;
mod error;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
mod host;
mod http;
mod limits;
mod metrics;
mod resp;
mod server;
mod trace;

pub use config::{
    Config, Diagnostic, Listen, Override, ParseListenError, PolicyConfig, ServerConfig, StoreConfig,
};
pub use limits::{HttpLimits, RespLimits};
pub use server::{Server, ServerBuilder};
