//! An exact, fast rate limiter.
mod clock;
mod error;
mod limiter;
mod memory;
mod request;

pub use clock::Clock;
pub use error::Error;
pub use limiter::Limiter;
pub use memory::{Builder, Fill, MemoryStore, SnapshotError, WhenFull, ZeroKeys};
pub use request::Request;
pub use tollgate_core::{
    Decimal, Decision, Limit, LimitError, Name, Policy, Span, StoreError, Time,
};
