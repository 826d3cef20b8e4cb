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

mod ask;
mod bounds;
mod config;
mod engine;
mod error;
mod event_loop;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
mod http;
mod kinds;
mod metrics;
mod policies;
mod pool;
mod porter;
mod regime;
mod resp;
mod server;
mod trace;
mod wire;

pub use bounds::{HttpBounds, RespBounds};
pub use config::{
    Config, Listen, Mistake, NotListen, Override, PolicyConfig, ServerConfig, StoreConfig,
};
pub use server::{Builder, Server};
