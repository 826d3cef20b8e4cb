//! The stores that a limiter can be on.

use std::sync::Arc;

use tollgate_core::{Policy, Store};

use crate::memory::Prepared;
use crate::shared::Shared;

/// A store that a [`Limiter`](crate::Limiter) can be on: [`MemoryStore`](crate::MemoryStore), where every operation
/// returns at once, or [`AnyStore`](crate::AnyStore), where it is awaited. No other type implements it: any other
/// [`Store`](crate::Store) becomes an `AnyStore`.
pub trait LimiterStore: Store + Sealed + 'static {}

/// What a limiter needs of its store.
pub trait Sealed {
    /// Returns what the limiters on this store share.
    fn shared(&self) -> &Arc<Shared>;

    /// Returns whether others may change the state without a limiter of this process noticing.
    fn is_remote(&self) -> bool;

    /// Makes room for the limits of a policy, if the store is in memory.
    fn prepared(self: &Arc<Self>, policy: &Policy) -> Prepared;
}
