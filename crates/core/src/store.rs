//! The one trait: everything that keeps state, or stands before something that does.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::decision::Decision;
use crate::error::StoreError;
use crate::operation::Op;
use crate::time::Time;

/// Whether the answers are there.
#[must_use = "answers that come later come only when the future is awaited"]
pub enum Apply<'a> {
    /// They are in `out`.
    Ready,
    /// They will be in `out` once this is done.
    Pending(Pin<Box<dyn Future<Output = ()> + Send + 'a>>),
}

/// What keeps the state of keys: memory, Redis, or a layer around another store.
///
/// # The contract
///
/// * **In order.** `out[i]` is the answer to `ops[i]`. Operations on one subject are one queue:
///   within a call they happen in their order, and N callers at once are answered as if one caller
///   had asked N times.
/// * **All or nothing.** The items of an operation stand or fall together. State belongs to (policy,
///   position of the item, rule, subject). An error changes nothing, except that it is not known
///   what happened when the store [was unavailable](StoreError::is_unavailable).
/// * **Time.** `at` is the instant of all operations of the call; `None` means the store's own
///   clock, read once. Times may step back.
/// * **Ids.** An operation that took or gave something is remembered for a minute, a lease no longer
///   than it lasts ([`Outcome`](crate::Outcome) says how long), under (policy, subjects, operation,
///   id). Repeated with its id it is answered as the first time, and done once. A denial is not
///   remembered. Release forgets the id, reset forgets the key with all its ids.
/// * **Expiry.** A state past its reset instant is as none and may be dropped; none is kept without
///   an end.
///
/// The suite in the module `contract` (feature `contract`) tests all of it that one caller who passes
/// the time can see; many callers at once, and a store's own clock, are for the store's own tests. A
/// store that keeps [`State`](crate::State)s and calls [`decide`](crate::decide) has most for free.
pub trait Store: Send + Sync {
    /// Answers each operation, in order.
    ///
    /// `out` has one place for each operation; what stood there is overwritten
    /// ([`StoreError::unanswered`] is made to stand there). Operations without a place are not done.
    fn apply<'a>(
        &'a self,
        ops: &'a [Op<'a>],
        at: Option<Time>,
        out: &'a mut [Result<Decision, StoreError>],
    ) -> Apply<'a>;
}

/// A store that is shared is the same store.
impl<S: Store + ?Sized> Store for Arc<S> {
    fn apply<'a>(
        &'a self,
        ops: &'a [Op<'a>],
        at: Option<Time>,
        out: &'a mut [Result<Decision, StoreError>],
    ) -> Apply<'a> {
        (**self).apply(ops, at, out)
    }
}
