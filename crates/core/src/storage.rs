//! For stores that decide in this process.
//!
//! You need this module only to write a [`Store`](crate::Store). A store keeps one [`State`] for
//! each (policy, position of the limit, subject), passes the states of an operation to [`decide`],
//! and keeps what it leaves in them. [`IdempotencyCache`] remembers the decisions of operations
//! with an id.
//!
//! A store that wants to be small and fast can keep most states as [`Packed`] words next to shared
//! [`Terms`], and check single limits over them with
//! [`LimitStorage::check_words`] and
//! [`LimitStorage::check_word`]. These fast paths return what `decide` returns;
//! tests hold them to it.

pub use crate::compact_decision::CompactDecision;
pub use crate::decide::{Outcome, decide};
pub use crate::decision::DecisionBuilder;
pub use crate::idempotency::{IdempotencyCache, Scope};
pub use crate::limit::storage::LimitStorage;
pub use crate::operation::storage::{ID_TTL, OpStorage};
pub use crate::rule::{
    Capacity, FADE_DECAY, FADE_FLOOR, Footprint, Handle, MAX_COUNT, MAX_RESERVATIONS, MAX_SLOTS,
    Packed, PackedOutcome, RESERVATION_TTL, State, Terms,
};
#[cfg(feature = "contract")]
pub use crate::walked::take_walked;
pub use crate::walked::walk;
