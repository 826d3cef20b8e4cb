//! The trait of everything that keeps state, and of layers around it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::decision::Decision;
use crate::error::StoreError;
use crate::operation::Op;
use crate::time::Time;

/// Maximum number of checks of one key that become one call of a remote store, so that a hot key does not hold
/// the store up.
pub const MAX_COALESCED: usize = 64;

/// Whether the results of [`Store::apply`] are ready.
#[must_use = "pending operations make progress only when the future is awaited"]
pub enum Apply<'a> {
    /// The results are in `out`.
    Ready,
    /// The results are in `out` once this future completes.
    Pending(Pin<Box<dyn Future<Output = ()> + Send + 'a>>),
}

/// A store that keeps the state of keys: memory, Redis, or a layer around another store.
///
/// # The contract
///
/// * **In order.** `out[i]` is the result of `ops[i]`. Operations on one subject are one queue:
///   within a call they are applied in order, and N concurrent callers get the results that one
///   caller making the N calls in turn would get.
/// * **All or nothing.** The items of an operation are allowed or denied together. State belongs to
///   (policy, position of the item, rule, subject). An error changes nothing, except that this is
///   unknown if the store [was unavailable](StoreError::is_unavailable).
/// * **Time.** `at` is the instant of all operations of the call; `None` means the store's own
///   clock, read once. Times may step back.
/// * **Ids.** An operation that took or gave something is remembered for a minute
///   ([`Outcome`](crate::storage::Outcome) says which), under (policy, subjects, operation, id). Repeated
///   with the same id it returns the first decision and is not applied again. A check or reserve that took
///   leases is remembered only while they are held. A denial is not remembered. Release forgets the id; reset forgets the key and
///   all its ids.
/// * **Expiry.** A state past its reset instant counts as absent and may be dropped. No state is
///   kept without an expiry.
///
/// The suite in the module `contract` (feature `contract`) tests what a single caller that passes
/// the time can observe. Concurrency and a store's own clock are left to the store's own tests. A
/// store that keeps [`State`](crate::storage::State)s and calls [`decide`](crate::storage::decide)
/// fulfils most of the contract by that.
///
/// A layer is a store around another:
///
/// ```
/// use std::slice;
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use tollgate_core::{Act, Apply, Decision, Op, PlainStore, Policy, Request};
/// use tollgate_core::{Name, Store, StoreError, Time};
///
/// /// Counts the operations on a store.
/// #[derive(Default)]
/// struct Counted<S>(S, AtomicUsize);
///
/// impl<S: Store> Store for Counted<S> {
///     fn apply<'a>(
///         &'a self,
///         ops: &'a [Op<'a>],
///         at: Option<Time>,
///         out: &'a mut [Result<Decision, StoreError>],
///     ) -> Apply<'a> {
///         self.1.fetch_add(ops.len(), Ordering::Relaxed);
///         self.0.apply(ops, at, out)
///     }
/// }
///
/// let store = Counted::<PlainStore>::default();
/// let api = Policy::parse(Name::new("api")?, ["gcra 1/s burst 5"])?;
/// let decision = Request::of("203.0.113.9").with_op(&api, Act::Check, |op| {
///     let mut out = [Err(StoreError::unanswered())];
///     let ops = slice::from_ref(op);
///     assert!(matches!(store.apply(ops, Some(Time::EPOCH), &mut out), Apply::Ready));
///     let [result] = out;
///     result
/// })??;
/// assert!(decision.allowed);
/// assert_eq!(store.1.load(Ordering::Relaxed), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Store: Send + Sync {
    /// Applies each operation, in order.
    ///
    /// `out` has one slot for each operation, which is overwritten with the result
    /// ([`StoreError::unanswered`] is meant as its initial value). Operations without a slot are
    /// not applied.
    fn apply<'a>(
        &'a self,
        ops: &'a [Op<'a>],
        at: Option<Time>,
        out: &'a mut [Result<Decision, StoreError>],
    ) -> Apply<'a>;

    /// Returns whether the store decides several operations like this one together if they come in one
    /// call. Otherwise each takes round trips of its own, one after the other, and they are better sent
    /// beside each other. Default: true.
    fn joins(&self, _op: &Op<'_>) -> bool {
        true
    }
}

/// Applies one operation to any store, and waits for its result.
///
/// # Errors
/// Fails as the store does.
pub async fn apply_one(
    store: &(impl Store + ?Sized),
    op: &Op<'_>,
    at: Option<Time>,
) -> Result<Decision, StoreError> {
    let mut out = [Err(StoreError::unanswered())];
    if let Apply::Pending(pending) = store.apply(std::slice::from_ref(op), at, &mut out) {
        pending.await;
    }
    let [result] = out;
    result
}

impl<S: Store + ?Sized> Store for Arc<S> {
    fn apply<'a>(
        &'a self,
        ops: &'a [Op<'a>],
        at: Option<Time>,
        out: &'a mut [Result<Decision, StoreError>],
    ) -> Apply<'a> {
        (**self).apply(ops, at, out)
    }

    fn joins(&self, op: &Op<'_>) -> bool {
        (**self).joins(op)
    }
}
