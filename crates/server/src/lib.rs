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
mod engine;
mod error;
mod event_loop;
mod resp;
mod server;

pub use bounds::RespBounds;
pub use server::{Builder, Server};
