//! The stores that a limiter can be on.

use std::num::NonZeroU32;
use std::sync::Arc;

use tollgate_core::{Limit, Name, Store};

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

    /// Returns the index of the terms of a limit of this policy, for later checks of that limit.
    fn terms_index(&self, policy: &Name, limit: &Limit) -> Option<NonZeroU32>;
}
