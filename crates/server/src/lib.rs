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

mod bounds;
mod config;
mod engine;
mod error;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
mod host;
mod http;
mod metrics;
mod resp;
mod server;
mod trace;

pub use bounds::{HttpBounds, RespBounds};
pub use config::{
    Config, Listen, Mistake, NotListen, Override, PolicyConfig, ServerConfig, StoreConfig,
};
pub use server::{Builder, Server};
