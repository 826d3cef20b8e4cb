//! A request to a limiter: its keys, its costs, its id, and the operations.

use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use tollgate_core::{
    Act, Allowed, Decimal, Decision, IntoKey, Items, Limit, LimitStatuses, Op, OwnedRequest, Time,
    apply_one,
};

use crate::any_store::AnyStore;
use crate::error::Error;
use crate::limiter::Limiter;
use crate::limiter_store::LimiterStore;
use crate::memory::MemoryStore;

impl<S: LimiterStore> Limiter<S> {
    /// Creates a request for this key, for any cost and operation.
    ///
    /// ```
    /// use std::net::Ipv4Addr;
    /// use tollgate::Limiter;
    ///
    /// let limiter: Limiter = "gcra 100/s".parse()?;
    /// let client = Ipv4Addr::new(203, 0, 113, 9);
    /// assert!(limiter.key(client).cost(5).check()?.allowed);
    /// // An address is the same key as its text.
    /// assert_eq!(limiter.key("203.0.113.9").peek()?.remaining, Some(95));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline(always)]
    pub fn key<'a>(&'a self, key: impl IntoKey<'a>) -> Request<'a, S> {
        self.subject("", key)
    }

    /// Creates a request with the key of one subject, for limits with `per`.
    /// [`Request::subject`] adds others, whose keys may have other types.
    ///
    /// ```
    /// use std::net::Ipv4Addr;
    /// use tollgate::Limiter;
    ///
    /// let login = Limiter::parse(["gcra 1/s burst 5 per ip", "fixed-window 100/day per user"])?;
    /// let client = Ipv4Addr::new(203, 0, 113, 9);
    /// assert!(login.subject("ip", client).subject("user", 42).check()?.allowed);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline(always)]
    pub fn subject<'a>(&'a self, name: &'a str, key: impl IntoKey<'a>) -> Request<'a, S> {
        Request::new(self).subject(name, key)
    }

    /// Creates a request with the keys of several subjects, for limits with `per`. The key for limits
    /// without `per` has the empty name.
    ///
    /// ```
    /// use tollgate::Limiter;
    ///
    /// let login = Limiter::parse(["gcra 1/s burst 5 per ip", "fixed-window 100/day per user"])?;
    /// assert!(login.keys(&[("ip", "203.0.113.9"), ("user", "42")]).check()?.allowed);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keys<'a, K: IntoKey<'a> + Copy>(&'a self, keys: &[(&'a str, K)]) -> Request<'a, S> {
        let add = |request: Request<'a, S>, (name, key): &(&'a str, K)| request.subject(name, *key);
        keys.iter().fold(Request::new(self), add)
    }
}

/// A request to a limiter. Created by [`Limiter::key`], [`Limiter::subject`] or [`Limiter::keys`].
///
/// It has all operations. On a [`MemoryStore`] they return at once, on an [`AnyStore`] they are
/// awaited; a request can be used for several of them.
///
/// ```
/// use tollgate::Limiter;
///
/// // A gateway before a language model: requests, and the tokens that they use.
/// let gateway = Limiter::parse(["gcra 60/min", "gcra 90000/min of tokens"])?;
/// // The tokens of a response are known only when it is complete: reserve an estimate …
/// let request = gateway.key("user-42").id("answer-7");
/// assert!(request.clone().cost_of("tokens", 800).reserve()?.allowed);
/// // … and settle what was used.
/// assert!(request.cost_of("tokens", 312).settle()?.allowed);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a request does nothing until an operation such as `check` is called"]
pub struct Request<'a, S: LimiterStore = MemoryStore> {
    limiter: &'a Limiter<S>,
    request: tollgate_core::Request<'a>,
    at: Option<Time>,
}

impl<'a, S: LimiterStore> Request<'a, S> {
    #[inline(always)]
    pub(crate) fn new(limiter: &'a Limiter<S>) -> Request<'a, S> {
        Request { limiter, request: tollgate_core::Request::new(), at: None }
    }

    #[inline(always)]
    fn map(
        self,
        change: impl FnOnce(tollgate_core::Request<'a>) -> tollgate_core::Request<'a>,
    ) -> Request<'a, S> {
        Request { request: change(self.request), ..self }
    }

    /// Adds the key of a subject: what limits with `per NAME` count.
    #[inline(always)]
    pub fn subject(self, name: &'a str, key: impl IntoKey<'a>) -> Request<'a, S> {
        self.map(|request| request.subject(name, key))
    }

    /// Sets the cost. Default: 1.
    pub fn cost(self, cost: u64) -> Request<'a, S> {
        self.map(|request| request.cost(cost))
    }

    /// Adds the cost of a unit, for limits with `of UNIT`. Default: 0.
    pub fn cost_of(self, unit: &'a str, cost: u64) -> Request<'a, S> {
        self.map(|request| request.cost_of(unit, cost))
    }

    /// Sets an id of 1 to 64 bytes. It names the reservation or lease, and makes a retry safe: within
    /// a minute, the same operation with the same id is done once and returns the same decision.
    #[inline(always)]
    pub fn id(self, id: &'a (impl AsRef<[u8]> + ?Sized)) -> Request<'a, S> {
        self.map(|request| request.id(id))
    }

    /// Sets how many times as tight the limits are for this request: 2 halves them, 0.5 doubles them,
    /// 0 switches them off. Default: 1.
    pub fn factor(self, factor: Decimal) -> Request<'a, S> {
        self.map(|request| request.factor(factor))
    }

    /// Asks for the status of each limit besides the decision of the whole policy. Waits and leases do
    /// not report it.
    ///
    /// ```
    /// use tollgate::{LimitStatuses, Limiter};
    ///
    /// let limiter = Limiter::parse(["gcra 1/s burst 5", "fixed-window 100/day"])?;
    /// let each = LimitStatuses::default();
    /// assert_eq!(limiter.key("a").statuses(&each).check()?.remaining, Some(4));
    /// assert_eq!(each.get(1).and_then(|day| day.remaining), Some(99));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn statuses(self, statuses: &'a LimitStatuses) -> Request<'a, S> {
        self.map(|request| request.statuses(statuses))
    }

    /// Sets the instant of the operation, for tests and replays. Default: the store's own clock.
    pub fn at(self, at: Time) -> Request<'a, S> {
        Request { at: Some(at), ..self }
    }

    pub(crate) fn limiter(&self) -> &'a Limiter<S> {
        self.limiter
    }

    /// Calls `with` with the operation of this request.
    pub(crate) fn with_op<T>(&self, act: Act, with: impl FnOnce(&Op<'_>) -> T) -> Result<T, Error> {
        Ok(self.request.with_op(self.limiter.policy(), act, with)?)
    }

    /// Applies an operation on any store.
    pub(crate) async fn apply_async(&self, act: Act) -> Result<Decision, Error> {
        let policy = self.limiter.policy();
        tollgate_core::Request::expect_support(policy, act)?;
        let limits = self.request.limits(policy.limits())?;
        let items = self.request.items(&limits)?;
        let op = self.request.op(policy.name(), &items, act)?;
        let decision = apply_one(&**self.limiter.store(), &op, self.at).await?;
        self.notify(&op);
        Ok(decision)
    }

    /// Wakes those who wait for what the operation may have given back.
    #[inline]
    fn notify(&self, op: &Op<'_>) {
        self.limiter.queues().notify(op);
    }

    /// Returns whether a limit of the policy gives leases.
    pub(crate) fn gives_leases(&self) -> bool {
        self.limiter.policy().limits().iter().any(Limit::gives_leases)
    }

    /// Returns a check that borrows nothing. If it takes a lease, it has an id, by which the lease is
    /// found again.
    pub(crate) fn to_owned_check(&self) -> OwnedCheck<S> {
        let (limiter, at) = (self.limiter.clone(), self.at);
        let request = self.request.to_owned_request();
        if request.id().is_some() || !self.gives_leases() {
            return OwnedCheck { limiter, request, at, has_own_id: false };
        }
        let request = self.request.clone().id(&new_id()).to_owned_request();
        OwnedCheck { limiter, request, at, has_own_id: true }
    }
}

impl Request<'_, MemoryStore> {
    fn apply(&self, act: Act) -> Result<Decision, Error> {
        let policy = self.limiter.policy();
        tollgate_core::Request::expect_support(policy, act)?;
        let limits = self.request.limits(policy.limits())?;
        let mut items = Items::new();
        self.request.push_items(&limits, &mut items)?;
        let op = self.request.op(policy.name(), &items, act)?;
        let store = self.limiter.store();
        let indices = match &limits {
            Cow::Borrowed(_) => self.limiter.terms_indices(),
            Cow::Owned(_) => &[],
        };
        // The result is passed on as it is: copying a decision that was just written has to wait for it.
        let result = store.apply_prepared(&op, indices, self.at);
        if result.is_ok() {
            self.notify(&op);
        }
        result.map_err(Error::from)
    }
}

/// What an operation returns: a decision, or an admission if it cannot be denied.
trait Output: Sized {
    fn of(decision: Decision) -> Result<Self, Error>;
}

impl Output for Decision {
    #[inline]
    fn of(decision: Decision) -> Result<Decision, Error> {
        Ok(decision)
    }
}

impl Output for Allowed {
    fn of(decision: Decision) -> Result<Allowed, Error> {
        Ok(decision.into_result()?)
    }
}

/// Adds the operations, for both stores.
macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident: $act:ident -> $output:ident;)*) => {
        /// The operations in memory, which return at once.
        impl Request<'_, MemoryStore> {
            $(
                $(#[$doc])*
                pub fn $name(&self) -> Result<$output, Error> {
                    self.apply(Act::$act).and_then($output::of)
                }
            )*
        }

        /// The operations on a store that is chosen at run time, which are awaited.
        impl Request<'_, AnyStore> {
            $(
                $(#[$doc])*
                pub async fn $name(&self) -> Result<$output, Error> {
                    $output::of(self.apply_async(Act::$act).await?)
                }
            )*
        }
    };
}

operations! {
    /// Decides whether the request is allowed; if so, takes its cost.
    ///
    /// # Errors
    /// As for all operations: fails if a key or the id is empty or too long, if a subject has no key,
    /// if no limit has the unit of a cost, if the factor or the debt is out of bounds, or if the store
    /// is unavailable. In the last case it is not known whether the operation was done.
    check: Check -> Decision;
    /// Returns what a check would decide, and takes nothing.
    ///
    /// # Errors
    /// As [`check`](Request::check).
    peek: Peek -> Decision;
    /// Gives the cost back, newest first, never beyond full.
    ///
    /// # Errors
    /// As [`check`](Request::check).
    refund: Refund -> Allowed;
    /// Takes the cost whatever the limits say. The key may go into debt, and is then denied until
    /// the debt is paid off.
    ///
    /// # Errors
    /// As [`check`](Request::check); also fails if the store is full and the key is new.
    charge: Charge -> Allowed;
    /// Forgets the key.
    ///
    /// # Errors
    /// As [`check`](Request::check).
    reset: Reset -> Allowed;
    /// Takes an estimated cost now, which [`settle`](Request::settle) corrects later under the same
    /// id.
    ///
    /// # Errors
    /// As [`check`](Request::check); also fails without an id.
    reserve: Reserve -> Decision;
    /// Corrects a reservation to its actual cost. It is not allowed, and nothing is booked, if there is
    /// none under this id: it was never made, or more than an hour ago, or it was settled before.
    ///
    /// # Errors
    /// As [`check`](Request::check); also fails without an id, and if no limit counts anything.
    settle: Settle -> Decision;
    /// Releases the lease of a `concurrency` limit that was taken under this id. It is not allowed if
    /// there is none: it was never taken, or has ended.
    ///
    /// # Errors
    /// As [`check`](Request::check); also fails without an id, and without a `concurrency` limit.
    release: Release -> Decision;
    /// Keeps the lease of a `concurrency` limit alive for another `ttl`. It is not allowed if the lease
    /// has ended, or was never taken: another may hold it now.
    ///
    /// # Errors
    /// As [`check`](Request::check); also fails without an id, and without a `concurrency` limit.
    renew: Renew -> Decision;
}

/// A check that borrows nothing.
pub(crate) struct OwnedCheck<S: LimiterStore> {
    limiter: Limiter<S>,
    request: OwnedRequest,
    at: Option<Time>,
    /// Whether its id was created here, so that no other caller uses it.
    has_own_id: bool,
}

impl<S: LimiterStore> OwnedCheck<S> {
    pub(crate) fn has_own_id(&self) -> bool {
        self.has_own_id
    }

    pub(crate) fn as_request(&self) -> Request<'_, S> {
        Request { limiter: &self.limiter, request: self.request.as_request(), at: self.at }
    }

    pub(crate) fn id(&self) -> Option<&[u8]> {
        self.request.id()
    }

    pub(crate) fn limiter(&self) -> &Limiter<S> {
        &self.limiter
    }
}

impl<S: LimiterStore> Clone for Request<'_, S> {
    fn clone(&self) -> Self {
        Request { limiter: self.limiter, request: self.request.clone(), at: self.at }
    }
}

impl<S: LimiterStore> std::fmt::Debug for Request<'_, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let policy = self.limiter.policy().name().as_str();
        f.debug_struct("Request").field("policy", &policy).field("request", &self.request).finish()
    }
}

/// Returns an id that no other lease has. Snapshots keep leases beyond the process that took them, so
/// a counter is not enough.
fn new_id() -> Box<[u8]> {
    static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0));
    static LEASES: AtomicU64 = AtomicU64::new(0);
    let number = LEASES.fetch_add(1, Ordering::Relaxed);
    format!("{:016x}-{number:x}", *PROCESS).into_bytes().into()
}
