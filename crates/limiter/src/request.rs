//! A request: its keys, its cost, its id, and the operations.

use smallvec::SmallVec;
use tollgate_core::{Act, Decimal, Decision, Id, Item, Key, Limit, Name, Op};

use crate::error::Error;
use crate::keys::{Keys, OwnedKeys};
use crate::limiter::Limiter;

impl Limiter {
    /// Creates a request for this key, for any cost and operation.
    pub fn key<'a>(&'a self, key: &'a (impl AsRef<[u8]> + ?Sized)) -> Request<'a> {
        Request::new(self, Keys::One(key.as_ref()))
    }

    /// Creates a request with a key for each kind of subject, for limits with `per`. The key for
    /// limits without `per` has the empty name.
    ///
    /// ```
    /// use tollgate::Limiter;
    ///
    /// let login = Limiter::parse(["gcra 1/s burst 5 per ip", "fixed-window 100/day per user"])?;
    /// assert!(login.keys(&[("ip", "203.0.113.9"), ("user", "42")]).check()?.allowed);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keys<'a, K: AsRef<[u8]>>(&'a self, keys: &'a [(&'a str, K)]) -> Request<'a> {
        let named = keys.iter().map(|(kind, key)| (*kind, key.as_ref()));
        Request::new(self, Keys::Named(named.collect()))
    }
}

/// A request to a limiter. Created by [`Limiter::key`] or [`Limiter::keys`].
///
/// ```
/// use tollgate::Limiter;
///
/// let limiter: Limiter = "token-bucket 1000/min burst 5000".parse()?;
/// // The cost of a language model's response is known only when it is complete.
/// assert!(limiter.key("user-42").cost(800).id("answer-7").reserve()?.allowed);
/// let after = limiter.key("user-42").cost(312).id("answer-7").settle()?;
/// assert!(after.remaining >= Some(4_687));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a request does nothing until an operation such as `check` is called"]
pub struct Request<'a> {
    limiter: &'a Limiter,
    keys: Keys<'a>,
    cost: u64,
    id: Option<&'a [u8]>,
    factor: Option<Decimal>,
}

impl<'a> Request<'a> {
    fn new(limiter: &'a Limiter, keys: Keys<'a>) -> Request<'a> {
        Request { limiter, keys, cost: 1, id: None, factor: None }
    }

    /// Sets the cost. Default: 1.
    pub fn cost(mut self, cost: u64) -> Request<'a> {
        self.cost = cost;
        self
    }

    /// Sets an id of 1 to 64 bytes. It names the reservation or lease, and makes a retry safe: within
    /// a minute, the same operation with the same id is done once and returns the same decision.
    pub fn id(mut self, id: &'a (impl AsRef<[u8]> + ?Sized)) -> Request<'a> {
        self.id = Some(id.as_ref());
        self
    }

    /// Sets how many times as tight the limits are for this request: 2 halves them, 0.5 doubles them,
    /// 0 switches them off. Default: 1.
    pub fn factor(mut self, factor: Decimal) -> Request<'a> {
        self.factor = Some(factor);
        self
    }

    /// Decides whether the request is allowed; if so, takes its cost.
    ///
    /// # Errors
    /// As for all operations: fails if a key or the id is empty or too long, if a subject has no key,
    /// or if the factor or the debt is out of bounds.
    pub fn check(&self) -> Result<Decision, Error> {
        self.apply(Act::Check)
    }

    /// Returns what a check would decide, and takes nothing.
    ///
    /// # Errors
    /// As [`check`](Request::check).
    pub fn peek(&self) -> Result<Decision, Error> {
        self.apply(Act::Peek)
    }

    /// Gives the cost back, newest first, never beyond full.
    ///
    /// # Errors
    /// As [`check`](Request::check).
    pub fn refund(&self) -> Result<Decision, Error> {
        self.apply(Act::Refund)
    }

    /// Takes the cost whatever the limits say. The key may go into debt, and is then denied until
    /// the debt is paid off.
    ///
    /// # Errors
    /// As [`check`](Request::check); also fails if the store is full and the key is new.
    pub fn charge(&self) -> Result<Decision, Error> {
        self.apply(Act::Charge)
    }

    /// Forgets the key.
    ///
    /// # Errors
    /// As [`check`](Request::check).
    pub fn reset(&self) -> Result<Decision, Error> {
        self.apply(Act::Reset)
    }

    /// Takes an estimated cost now, which [`settle`](Request::settle) corrects later under the same
    /// id.
    ///
    /// # Errors
    /// As [`check`](Request::check); also fails without an id.
    pub fn reserve(&self) -> Result<Decision, Error> {
        self.apply(Act::Reserve)
    }

    /// Corrects a reservation to its actual cost.
    ///
    /// # Errors
    /// As [`check`](Request::check); also fails without an id.
    pub fn settle(&self) -> Result<Decision, Error> {
        self.apply(Act::Settle)
    }

    /// Releases the lease of a `concurrency` limit that was taken under this id.
    ///
    /// # Errors
    /// As [`check`](Request::check); also fails without an id.
    pub fn release(&self) -> Result<Decision, Error> {
        self.apply(Act::Release)
    }

    /// Keeps the lease of a `concurrency` limit alive for another `ttl`.
    ///
    /// # Errors
    /// As [`check`](Request::check); also fails without an id.
    pub fn renew(&self) -> Result<Decision, Error> {
        self.apply(Act::Renew)
    }

    #[cfg(feature = "wait")]
    pub(crate) fn limiter(&self) -> &'a Limiter {
        self.limiter
    }

    fn apply(&self, act: Act) -> Result<Decision, Error> {
        let apply = |op: &Op<'_>| {
            let decision = self.limiter.store().apply_one(op, None)?;
            #[cfg(feature = "wait")]
            self.limiter.queues().notify(op);
            Ok(decision)
        };
        self.with_op(act, apply)?
    }

    /// Calls `with` with the operation of this request.
    pub(crate) fn with_op<T>(&self, act: Act, with: impl FnOnce(&Op<'_>) -> T) -> Result<T, Error> {
        let policy = self.limiter.policy();
        let Some(factor) = self.factor else {
            return self.with_limits(policy.limits(), act, with);
        };
        let scaled = policy.limits().iter().map(|limit| limit.scaled(factor));
        self.with_limits(&scaled.collect::<Result<Vec<_>, _>>()?, act, with)
    }

    fn with_limits<T>(
        &self,
        limits: &[Limit],
        act: Act,
        with: impl FnOnce(&Op<'_>) -> T,
    ) -> Result<T, Error> {
        let mut items: SmallVec<[Item<'_>; 4]> = SmallVec::new();
        for limit in limits {
            let key = self.keys.get(limit.per().map(Name::as_str));
            let key = key.map(Key::new).transpose()?;
            items.push(limit.item(|_| key)?);
        }
        let id = self.id.map(Id::new).transpose()?;
        let policy = self.limiter.policy().name();
        Ok(with(&Op { policy, items: &items, act, cost: self.cost, id }))
    }

    /// Returns the same request without borrows.
    pub(crate) fn to_owned_request(&self) -> OwnedRequest {
        OwnedRequest {
            limiter: self.limiter.clone(),
            keys: self.keys.to_owned_keys(),
            cost: self.cost,
            id: self.id.map(Box::from),
            factor: self.factor,
        }
    }
}

/// A request that borrows nothing.
#[derive(Debug)]
pub(crate) struct OwnedRequest {
    limiter: Limiter,
    keys: OwnedKeys,
    cost: u64,
    pub(crate) id: Option<Box<[u8]>>,
    factor: Option<Decimal>,
}

impl OwnedRequest {
    pub(crate) fn as_request(&self) -> Request<'_> {
        Request {
            limiter: &self.limiter,
            keys: self.keys.as_keys(),
            cost: self.cost,
            id: self.id.as_deref(),
            factor: self.factor,
        }
    }
}
