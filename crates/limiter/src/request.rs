//! One request: a key or several, a cost, an id, and what to do.

use smallvec::SmallVec;
use tollgate_core::{Act, Decimal, Decision, Id, Item, Key, Limit, Op};

use crate::error::Error;
use crate::limiter::Limiter;

/// Whose request it is.
#[derive(Debug, Clone)]
pub(crate) enum Keys<'a> {
    /// The nameless key.
    One(&'a [u8]),
    /// A key for each kind of subject; that of the nameless one is called "".
    Named(SmallVec<[(&'a str, &'a [u8]); 4]>),
}

impl<'a> Keys<'a> {
    fn of(&self, kind: Option<&str>) -> Option<&'a [u8]> {
        match (self, kind) {
            (Keys::One(key), None) => Some(key),
            (Keys::One(_), Some(_)) => None,
            (Keys::Named(keys), kind) => {
                let kind = kind.unwrap_or("");
                keys.iter().find(|(name, _)| *name == kind).map(|(_, key)| *key)
            }
        }
    }

    fn owned(&self) -> OwnedKeys {
        match self {
            Keys::One(key) => OwnedKeys::One(key.to_vec()),
            Keys::Named(keys) => {
                let owned = |(kind, key): &(&str, &[u8])| (String::from(*kind), key.to_vec());
                OwnedKeys::Named(keys.iter().map(owned).collect())
            }
        }
    }
}

/// A request that is about to be decided: [`Limiter::key`] makes one.
///
/// ```
/// use tollgate::Limiter;
///
/// let limiter: Limiter = "token-bucket 1000/min burst 5000".parse()?;
/// // A model's answer: its cost is known when it is done.
/// assert!(limiter.key("user-42").cost(800).id("answer-7").reserve()?.allowed);
/// let after = limiter.key("user-42").cost(312).id("answer-7").settle()?;
/// assert!(after.remaining >= Some(4_687));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "nothing happens until it is checked, charged or the like"]
pub struct Request<'a> {
    limiter: &'a Limiter,
    keys: Keys<'a>,
    cost: u64,
    id: Option<&'a [u8]>,
    factor: Option<Decimal>,
}

impl<'a> Request<'a> {
    pub(crate) fn new(limiter: &'a Limiter, keys: Keys<'a>) -> Request<'a> {
        Request { limiter, keys, cost: 1, id: None, factor: None }
    }

    /// How much it takes: 1 if not said.
    pub fn cost(mut self, cost: u64) -> Request<'a> {
        self.cost = cost;
        self
    }

    /// Names the reservation or lease, and makes a retry safe: within a minute the same operation
    /// with the same id is answered as the first time and done once. Up to 64 bytes.
    pub fn id(mut self, id: &'a (impl AsRef<[u8]> + ?Sized)) -> Request<'a> {
        self.id = Some(id.as_ref());
        self
    }

    /// How many times as tight the limits are for this request: 2 halves them, 0.5 doubles them, 0
    /// switches them off.
    pub fn factor(mut self, factor: Decimal) -> Request<'a> {
        self.factor = Some(factor);
        self
    }

    /// Whether it may pass; if so, its cost is taken.
    ///
    /// # Errors
    /// As for all operations: a key or an id that is empty or too long, a subject that is not
    /// named, a factor or a debt out of bounds.
    pub fn check(&self) -> Result<Decision, Error> {
        self.apply(Act::Check)
    }

    /// What a check would say. Nothing is taken.
    ///
    /// # Errors
    /// As [`check`](Request::check).
    pub fn peek(&self) -> Result<Decision, Error> {
        self.apply(Act::Peek)
    }

    /// Gives the cost back, the newest first, never beyond full.
    ///
    /// # Errors
    /// As [`check`](Request::check).
    pub fn refund(&self) -> Result<Decision, Error> {
        self.apply(Act::Refund)
    }

    /// Takes the cost whatever the limits say. The key may go into debt, and is then denied until
    /// that is paid off.
    ///
    /// # Errors
    /// As [`check`](Request::check); also if the store is full and the key is new.
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

    /// Takes an estimate now, to be corrected by [`settle`](Request::settle) under the same id.
    ///
    /// # Errors
    /// As [`check`](Request::check); also without an id.
    pub fn reserve(&self) -> Result<Decision, Error> {
        self.apply(Act::Reserve)
    }

    /// Corrects a reservation to the cost that it really was.
    ///
    /// # Errors
    /// As [`check`](Request::check); also without an id.
    pub fn settle(&self) -> Result<Decision, Error> {
        self.apply(Act::Settle)
    }

    /// Gives back the lease of a `concurrency` limit that was taken under this id.
    ///
    /// # Errors
    /// As [`check`](Request::check); also without an id.
    pub fn release(&self) -> Result<Decision, Error> {
        self.apply(Act::Release)
    }

    /// Keeps the lease of a `concurrency` limit alive for another while.
    ///
    /// # Errors
    /// As [`check`](Request::check); also without an id.
    pub fn renew(&self) -> Result<Decision, Error> {
        self.apply(Act::Renew)
    }

    #[cfg(feature = "wait")]
    pub(crate) fn limiter(&self) -> &'a Limiter {
        self.limiter
    }

    fn apply(&self, act: Act) -> Result<Decision, Error> {
        let answer = |op: &Op<'_>| {
            let decision = self.limiter.store().apply_one(op, None)?;
            #[cfg(feature = "wait")]
            self.limiter.queues().tell(op);
            Ok(decision)
        };
        self.with_op(act, answer)?
    }

    /// Does something with the operation that this request comes to.
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
            let key = self.keys.of(limit.per().map(tollgate_core::Name::as_str));
            let key = key.map(Key::new).transpose()?;
            items.push(limit.item(|_| key)?);
        }
        let id = self.id.map(Id::new).transpose()?;
        let policy = self.limiter.policy().name();
        Ok(with(&Op { policy, items: &items, act, cost: self.cost, id }))
    }

    /// The same request for someone who outlives what it borrows.
    pub(crate) fn owned(&self) -> Owned {
        Owned {
            limiter: self.limiter.clone(),
            keys: self.keys.owned(),
            cost: self.cost,
            id: self.id.map(Box::from),
            factor: self.factor,
        }
    }
}

/// A request that borrows nothing.
#[derive(Debug)]
pub(crate) struct Owned {
    limiter: Limiter,
    keys: OwnedKeys,
    cost: u64,
    pub(crate) id: Option<Box<[u8]>>,
    factor: Option<Decimal>,
}

#[derive(Debug)]
enum OwnedKeys {
    One(Vec<u8>),
    Named(Vec<(String, Vec<u8>)>),
}

impl Owned {
    pub(crate) fn request(&self) -> Request<'_> {
        Request {
            limiter: &self.limiter,
            keys: self.keys.borrowed(),
            cost: self.cost,
            id: self.id.as_deref(),
            factor: self.factor,
        }
    }
}

impl OwnedKeys {
    fn borrowed(&self) -> Keys<'_> {
        match self {
            OwnedKeys::One(key) => Keys::One(key),
            OwnedKeys::Named(keys) => Keys::Named(
                keys.iter().map(|(kind, key)| (kind.as_str(), key.as_slice())).collect(),
            ),
        }
    }
}
