//! Limits that many servers share, over Redis, Valkey or Redis Cluster: every algorithm, any list of
//! limits, in one round trip.

#![forbid(unsafe_code)]

mod apart;
mod bytes;
mod call;
mod cluster;
mod connect;
mod erase;
mod keys;
mod link;
mod node;
mod reply;
mod script;
mod shape;
mod store;
mod target;

pub use connect::{Builder, ConnectError};
pub use shape::MOST_LIMITS;
pub use store::RedisStore;
pub use target::BadUrl;
