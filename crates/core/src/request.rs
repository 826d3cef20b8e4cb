//! A request: keys, costs, an id and a factor, and how they become an operation on a policy.

mod error;

pub use error::{MissingKey, RequestError};

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::act::Act;
use crate::decimal::Decimal;
use crate::decision::LimitStatuses;
use crate::few::Few;
use crate::into_key::{IntoKey, KeyBytes};
use crate::limit::Limit;
use crate::operation::{Item, Op};
use crate::policy::Policy;
use crate::subject::{Id, Key, Name, Subject};

/// The items of an operation. Most policies have at most four limits.
pub type Items<'a> = SmallVec<[Item<'a>; 4]>;

/// What a caller asks for: keys, costs, an id and a factor.
///
/// The library, the server, the simulator and the command line turn what their callers ask for into an
/// [`Op`] by these rules, so that the same request means the same on all of them. A check of one key alone
/// takes a shorter way with the same rules: [`push_items_of_key`] and [`item_of_key`]. Stores and layers only
/// derive operations from one they were given.
///
/// ```
/// use tollgate_core::{Act, Name, PlainStore, Policy, Request, Time};
///
/// let policy = Policy::parse(
///     Name::new("model")?,
///     ["gcra 60/min per user", "gcra 90000/min of tokens per user"],
/// )?;
/// let store = PlainStore::default();
/// let request = Request::new().subject("user", 42).cost_of("tokens", 850);
/// let decision =
///     request.with_op(&policy, Act::Check, |op| store.apply_one(op, Time::EPOCH))??;
/// assert!(decision.allowed);
/// assert_eq!(decision.remaining, Some(59));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a request does nothing by itself"]
pub struct Request<'a> {
    /// By the name of the subject; that of the nameless key is "". Nearly all requests have one key,
    /// and a server moves many requests.
    keys: Few<(&'a str, KeyBytes<'a>)>,
    cost: u64,
    /// Costs by their unit.
    unit_costs: Few<(&'a str, u64)>,
    id: Option<&'a [u8]>,
    /// Boxed, since it is rare and large, and scaling limits allocates anyway.
    factor: Option<Box<Decimal>>,
    statuses: Option<&'a LimitStatuses>,
}

/// The cost for limits without a unit, if the request does not say.
const DEFAULT_COST: u64 = 1;

impl Default for Request<'_> {
    fn default() -> Self {
        Request::new()
    }
}

impl<'a> Request<'a> {
    /// Creates a request of cost 1 without any key.
    pub const fn new() -> Request<'a> {
        Request {
            keys: Few::None,
            cost: DEFAULT_COST,
            unit_costs: Few::None,
            id: None,
            factor: None,
            statuses: None,
        }
    }

    /// Creates a request of cost 1 for this key, which limits without `per` count.
    pub fn of(key: impl IntoKey<'a>) -> Request<'a> {
        Request::new().key(key)
    }

    /// Adds the nameless key, which limits without `per` count.
    #[inline(always)]
    pub fn key(self, key: impl IntoKey<'a>) -> Request<'a> {
        self.subject("", key)
    }

    /// Adds the key of a subject, which limits with `per NAME` count. The name of the nameless key
    /// is "". A key that no limit counts is ignored.
    #[inline(always)]
    pub fn subject(mut self, name: &'a str, key: impl IntoKey<'a>) -> Request<'a> {
        self.keys = self.keys.with((name, key.into_key()));
        self
    }

    /// Sets the cost for limits without a unit. Default: 1.
    pub fn cost(mut self, cost: u64) -> Request<'a> {
        self.cost = cost;
        self
    }

    /// Adds the cost for limits with this unit (`of UNIT`). Default: 0.
    pub fn cost_of(mut self, unit: &'a str, cost: u64) -> Request<'a> {
        self.unit_costs = self.unit_costs.with((unit, cost));
        self
    }

    /// Sets the id. It names the reservation or lease, and makes a retry safe.
    #[inline(always)]
    pub fn id(mut self, id: &'a (impl AsRef<[u8]> + ?Sized)) -> Request<'a> {
        self.id = Some(id.as_ref());
        self
    }

    /// Sets how many times as tight the limits are for this request. Default: 1.
    pub fn factor(mut self, factor: Decimal) -> Request<'a> {
        self.factor = Some(Box::new(factor));
        self
    }

    /// Asks for the status of each limit besides the decision of the whole policy. What was in it
    /// before is dropped when the operation is built.
    ///
    /// ```
    /// use tollgate_core::{Act, LimitStatuses, Name, PlainStore, Policy, Request, Time};
    ///
    /// let policy = Policy::parse(Name::default(), ["gcra 1/s burst 5", "fixed-window 100/day"])?;
    /// let (store, each) = (PlainStore::default(), LimitStatuses::default());
    /// let request = Request::of("a").statuses(&each);
    /// let check = request.with_op(&policy, Act::Check, |op| store.apply_one(op, Time::EPOCH));
    /// assert_eq!(check??.remaining, Some(4));
    /// assert_eq!(each.get(1).and_then(|day| day.remaining), Some(99));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn statuses(mut self, statuses: &'a LimitStatuses) -> Request<'a> {
        self.statuses = Some(statuses);
        self
    }

    /// Returns the key of a subject; `None` asks for the nameless key.
    #[must_use]
    pub fn key_of(&self, subject: Option<&str>) -> Option<&[u8]> {
        let is_subject = |name: &str| match subject {
            // Not `==`: names are short, and calling `memcmp` takes longer.
            None => name.is_empty(),
            Some(subject) => name.len() == subject.len() && name.bytes().eq(subject.bytes()),
        };
        self.keys.iter().find(|(name, _)| is_subject(name)).map(|(_, key)| key.as_bytes())
    }

    /// Returns the key and the cost of a request that has only the nameless key, borrowed, and a cost for
    /// limits without a unit. [`item_of_key`] is the same as [`item`](Request::item) then.
    #[inline]
    #[must_use]
    pub fn as_plain(&self) -> Option<(Key<'a>, u64)> {
        let Few::One([("", key)]) = &self.keys else { return None };
        let is_plain = matches!(self.unit_costs, Few::None)
            && self.id.is_none()
            && self.factor.is_none()
            && self.statuses.is_none();
        let key = Key::new(key.as_borrowed()?).ok()?;
        is_plain.then_some((key, self.cost))
    }

    /// Returns the limits as this request sees them, after its factor.
    ///
    /// # Errors
    /// Fails if the factor takes a limit out of its bounds.
    pub fn limits<'l>(&self, limits: &'l [Limit]) -> Result<Cow<'l, [Limit]>, RequestError> {
        let Some(factor) = self.factor.as_deref() else { return Ok(Cow::Borrowed(limits)) };
        let scaled = limits.iter().map(|limit| limit.scaled(*factor));
        Ok(Cow::Owned(scaled.collect::<Result<_, _>>()?))
    }

    /// Returns each limit with the subject it counts and the cost it takes.
    ///
    /// # Errors
    /// Fails if a key is invalid or missing, if a key or cost is given twice, or if no limit has the
    /// unit of a cost.
    #[inline]
    pub fn items<'l>(&'l self, limits: &'l [Limit]) -> Result<Items<'l>, RequestError> {
        let mut items = Items::new();
        self.push_items(limits, &mut items)?;
        Ok(items)
    }

    /// As [`items`](Request::items), but appends them to `items`, which are large to return.
    ///
    /// # Errors
    /// As [`items`](Request::items).
    #[inline]
    pub fn push_items<'l>(
        &'l self,
        limits: &'l [Limit],
        items: &mut Items<'l>,
    ) -> Result<(), RequestError> {
        match (&self.keys, &self.unit_costs) {
            (Few::None | Few::One(_), Few::None) => {}
            (Few::Two([(first, _), (second, _)]), Few::None) if first != second => {}
            _ => self.check_names(limits)?,
        }
        for limit in limits {
            items.push(self.item(limit)?);
        }
        Ok(())
    }

    /// Returns a limit with the subject it counts and the cost it takes. [`items`](Request::items)
    /// does so for all limits, and finds what no single limit shows: a key or cost that is given
    /// twice, and a cost of a unit that no limit has.
    ///
    /// # Errors
    /// Fails if the key is invalid or missing.
    #[inline]
    pub fn item<'l>(&'l self, limit: &'l Limit) -> Result<Item<'l>, RequestError> {
        let name = limit.per();
        let key = |subject| {
            let key = self.key_of(subject).map(Key::new).transpose();
            key.map_err(|error| RequestError::of_key(name, error))
        };
        item(limit, key, self.cost_for(limit))
    }

    #[inline]
    fn cost_for(&self, limit: &Limit) -> u64 {
        let Some(unit) = limit.unit() else { return self.cost };
        let cost = self.unit_costs.iter().find(|(name, _)| *name == unit.as_str());
        cost.map_or(0, |(_, cost)| *cost)
    }

    /// Fails if a key or cost is given twice, or if no limit has the unit of a cost. Takes quadratic
    /// time, so a server must limit the number of keys and costs of a request.
    fn check_names(&self, limits: &[Limit]) -> Result<(), RequestError> {
        if let Some(name) = first_twice(self.keys.as_slice()) {
            return Err(RequestError::key_twice(name));
        }
        if let Some(unit) = first_twice(self.unit_costs.as_slice()) {
            return Err(RequestError::cost_twice(unit));
        }
        let has_unit = |limit: &Limit, unit| limit.unit().is_some_and(|own| own.as_str() == unit);
        let is_unknown = |unit| !limits.iter().any(|limit| has_unit(limit, unit));
        match self.unit_costs.iter().find(|(unit, _)| is_unknown(*unit)) {
            Some((unit, _)) => Err(RequestError::unknown_unit(unit)),
            None => Ok(()),
        }
    }

    /// Returns the operation on these items of a policy.
    ///
    /// # Errors
    /// Fails if the id is invalid.
    #[inline]
    pub fn op<'o>(
        &'o self,
        policy: &'o Name,
        items: &'o [Item<'o>],
        act: Act,
    ) -> Result<Op<'o>, RequestError> {
        let id = self.id.map(Id::new).transpose()?;
        // A store reports nothing if it fails or returns a remembered decision.
        let statuses = self.statuses.inspect(|statuses| statuses.clear());
        Ok(Op { policy, items, act, id, statuses })
    }

    /// Checks whether a policy supports an operation.
    ///
    /// # Errors
    /// Fails if it does not: see [`Policy::supports`].
    #[inline]
    pub fn expect_support(policy: &Policy, act: Act) -> Result<(), RequestError> {
        match policy.supports(act) {
            true => Ok(()),
            false => Err(RequestError::unsupported(act)),
        }
    }

    /// Calls `with` with the operation of this request on a policy.
    ///
    /// # Errors
    /// Fails if the policy does not [support](Policy::supports) the operation, and as
    /// [`limits`](Request::limits), [`items`](Request::items) and [`op`](Request::op) do.
    pub fn with_op<T>(
        &self,
        policy: &Policy,
        act: Act,
        with: impl FnOnce(&Op<'_>) -> T,
    ) -> Result<T, RequestError> {
        Request::expect_support(policy, act)?;
        let limits = self.limits(policy.limits())?;
        let items = self.items(&limits)?;
        Ok(with(&self.op(policy.name(), &items, act)?))
    }

    /// Returns the same request without borrows. It does not ask for statuses.
    #[must_use]
    pub fn to_owned_request(&self) -> OwnedRequest {
        let keys = self.keys.iter().map(|(name, key)| (Box::from(*name), key.as_bytes().into()));
        let costs = self.unit_costs.iter().map(|(unit, cost)| (Box::from(*unit), *cost));
        OwnedRequest {
            keys: keys.collect(),
            cost: self.cost,
            unit_costs: costs.collect(),
            id: self.id.map(Box::from),
            factor: self.factor.as_deref().copied(),
        }
    }
}

/// A request that borrows nothing, to be kept for later operations with the same keys. Created by
/// [`Request::to_owned_request`].
#[derive(Debug, Clone)]
pub struct OwnedRequest {
    keys: Vec<(Box<str>, Box<[u8]>)>,
    cost: u64,
    unit_costs: Vec<(Box<str>, u64)>,
    id: Option<Box<[u8]>>,
    factor: Option<Decimal>,
}

impl OwnedRequest {
    /// Returns the request.
    pub fn as_request(&self) -> Request<'_> {
        Request {
            keys: self.keys.iter().map(|(name, key)| (&**name, (&**key).into_key())).collect(),
            cost: self.cost,
            unit_costs: self.unit_costs.iter().map(|(unit, cost)| (&**unit, *cost)).collect(),
            id: self.id.as_deref(),
            factor: self.factor.map(Box::new),
            statuses: None,
        }
    }

    /// Returns its id.
    #[must_use]
    pub fn id(&self) -> Option<&[u8]> {
        self.id.as_deref()
    }
}

/// Appends the items of `Request::of(key)`, without the way through a request: the check that most
/// callers make must be fast.
///
/// # Errors
/// Fails if a limit counts another subject.
#[inline]
pub fn push_items_of_key<'l>(
    limits: &'l [Limit],
    key: Key<'l>,
    items: &mut Items<'l>,
) -> Result<(), RequestError> {
    for limit in limits {
        items.push(item_of_key(limit, key, DEFAULT_COST)?);
    }
    Ok(())
}

/// Returns a limit of a request that has only the nameless key and the plain cost. This is the fast way to
/// [`Request::item`].
///
/// # Errors
/// Fails if the limit counts another subject.
#[inline]
pub fn item_of_key<'l>(
    limit: &'l Limit,
    key: Key<'l>,
    cost: u64,
) -> Result<Item<'l>, RequestError> {
    let cost = if limit.unit().is_none() { cost } else { 0 };
    item(limit, |subject| Ok(Some(key).filter(|_| subject.is_none())), cost)
}

/// Returns a limit with the key that it counts.
#[inline(always)]
fn item<'l>(
    limit: &'l Limit,
    key_of: impl FnOnce(Option<&'l str>) -> Result<Option<Key<'l>>, RequestError>,
    cost: u64,
) -> Result<Item<'l>, RequestError> {
    let name = limit.per();
    let key = match name.map(Name::as_str) {
        Some(Name::ALL) => Key::ALL,
        subject => key_of(subject)?.ok_or_else(|| MissingKey::of(name))?,
    };
    Ok(Item { limit, subject: Subject { name, key }, cost })
}

/// Returns the first name that is given twice.
fn first_twice<'n, T>(named: &[(&'n str, T)]) -> Option<&'n str> {
    let is_repeated = |(index, (name, _)): &(usize, &(&'n str, T))| {
        named.iter().take(*index).any(|(earlier, _)| earlier == name)
    };
    named.iter().enumerate().find(is_repeated).map(|(_, (name, _))| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server moves a request for each command of a pipeline.
    #[test]
    fn a_request_is_small() {
        assert!(size_of::<Request<'_>>() <= 232, "{} bytes", size_of::<Request<'_>>());
    }
}
