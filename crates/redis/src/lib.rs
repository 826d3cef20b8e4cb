//! Limits that many servers share, over Redis, Valkey or Redis Cluster: every algorithm, any list of
//! limits, in one round trip.

#![forbid(unsafe_code)]

mod bytes;
mod call;
mod keys;
mod reply;
mod script;
mod shape;
mod store;

pub use shape::MOST_LIMITS;
pub use store::RedisStore;
