//! The limiter: a policy, and the store that counts for it.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::Arc;

use smallvec::SmallVec;
use tollgate_core::{
    Act, Decision, InvalidKey, Item, Key, Limit, LimitError, MissingKey, Name, Op, Policy,
    StoreError, Time,
};

use crate::error::Error;
use crate::memory::{BATCH_SIZE, MemoryStore, SingleCheck};
#[cfg(feature = "wait")]
use crate::queues::Queues;

/// Decides whether requests are allowed. Cheap to clone; clones count together.
///
/// Exact under any number of threads: N concurrent checks are allowed exactly as often as N checks
/// one after the other.
///
/// ```
/// use tollgate::Limiter;
///
/// let limiter: Limiter = "gcra 100/s burst 200".parse()?;
/// let decision = limiter.check("203.0.113.9")?;
/// assert!(decision.allowed);
/// assert_eq!(decision.remaining, Some(199));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Limiter {
    policy: Arc<Policy>,
    store: Arc<MemoryStore>,
    /// Present if the policy is one limit of the nameless key.
    single: Option<SingleLimit>,
}

/// The only limit of a policy, which counts the nameless key.
#[derive(Clone, Copy)]
struct SingleLimit {
    /// Index of its terms in the store.
    terms_index: Option<NonZeroU32>,
}

impl Limiter {
    fn from_parts(policy: Arc<Policy>, store: Arc<MemoryStore>) -> Limiter {
        let single = match policy.limits() {
            [limit] if limit.per().is_none() => {
                Some(SingleLimit { terms_index: store.terms_index(limit) })
            }
            _ => None,
        };
        Limiter { policy, store, single }
    }

    /// Returns a check of cost 1 if the policy is one limit of the nameless key.
    #[inline]
    fn single_check(&self) -> Option<SingleCheck<'_>> {
        let SingleLimit { terms_index } = self.single?;
        Some(SingleCheck { limit: self.policy.limits().first()?, terms_index, cost: 1 })
    }

    /// Creates a limiter for this policy, with a store of its own.
    #[must_use]
    pub fn new(policy: Policy) -> Limiter {
        Limiter::from_parts(Arc::new(policy), Arc::default())
    }

    /// Creates a limiter from limit lines. A request must pass all of the limits.
    ///
    /// # Errors
    /// Fails at the first line that is not a valid limit.
    pub fn parse<L: AsRef<str>>(lines: impl IntoIterator<Item = L>) -> Result<Limiter, LimitError> {
        Policy::parse(Name::default(), lines).map(Limiter::new)
    }

    /// Returns the same limiter on another store. Limiters on one store share its bound on keys, and
    /// those with the same name also share their counts.
    #[must_use]
    pub fn with_store(self, store: Arc<MemoryStore>) -> Limiter {
        Limiter::from_parts(self.policy, store)
    }

    /// Returns the same limiter under another name.
    ///
    /// # Errors
    /// Fails if the name is invalid.
    pub fn with_name(self, name: &str) -> Result<Limiter, InvalidKey> {
        let policy = Policy::new(Name::new(name)?, self.policy.limits().to_vec());
        Ok(Limiter::from_parts(Arc::new(policy), self.store))
    }

    /// Returns the same limiter with other limits. Usage carries over: a raised limit helps at once,
    /// and a lowered one gives no client a fresh burst.
    #[must_use]
    pub fn with_limits(&self, limits: Vec<Limit>) -> Limiter {
        let policy = Policy::new(self.policy.name().clone(), limits);
        Limiter::from_parts(Arc::new(policy), self.store.clone())
    }

    /// Returns the policy: the name and the limits.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Returns the store that keeps the counts.
    #[must_use]
    pub fn store(&self) -> &Arc<MemoryStore> {
        &self.store
    }

    #[cfg(feature = "wait")]
    pub(crate) fn queues(&self) -> &Queues {
        self.store.queues()
    }

    /// Decides whether a request of cost 1 is allowed; if so, counts it.
    ///
    /// # Errors
    /// Fails if the key is empty or longer than 1,024 bytes, or if a limit has a `per` and needs
    /// [named keys](Limiter::keys).
    #[inline]
    pub fn check(&self, key: impl AsRef<[u8]>) -> Result<Decision, Error> {
        let key = Key::new(key.as_ref())?;
        let Some(check) = self.single_check() else { return self.key(key.as_bytes()).check() };
        let (name, now) = (self.policy.name(), self.store.clock().now());
        if let Some(decision) = self.store.check_one_word(name, key.into(), &check, now) {
            return Ok(decision);
        }
        self.check_slow(&check, key, now)
    }

    /// Checks a key that has no state of one word.
    #[inline(never)]
    fn check_slow(
        &self,
        check: &SingleCheck<'_>,
        key: Key<'_>,
        now: Time,
    ) -> Result<Decision, Error> {
        let name = self.policy.name();
        if let Some(decision) = self.store.check_three_words(name, key.into(), check, now) {
            return Ok(decision);
        }
        let items = [Item { limit: check.limit, subject: key.into() }];
        Ok(self.store.apply_general(&self.check_op(&items), now)?)
    }

    fn check_op<'a>(&'a self, items: &'a [Item<'a>]) -> Op<'a> {
        Op { policy: self.policy.name(), items, act: Act::Check, cost: 1, id: None }
    }

    /// Checks many keys at one instant, each by itself and in order. The decisions replace the
    /// content of `out`.
    ///
    /// All keys are hashed first and looked up together, so that the processor loads their states at
    /// the same time. With many keys this is several times as fast as one call for each.
    ///
    /// ```
    /// use tollgate::Limiter;
    ///
    /// let limiter: Limiter = "gcra 1/s burst 1".parse()?;
    /// let mut decisions = Vec::new();
    /// limiter.check_many(&["a", "b", "a"], &mut decisions);
    /// let allowed: Vec<bool> = decisions.into_iter().map(|d| d.unwrap().allowed).collect();
    /// assert_eq!(allowed, [true, true, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_many<K: AsRef<[u8]>>(&self, keys: &[K], out: &mut Vec<Result<Decision, Error>>) {
        out.clear();
        let now = self.store.clock().now();
        for keys in keys.chunks(BATCH_SIZE) {
            let mut valid: SmallVec<[Key<'_>; BATCH_SIZE]> = SmallVec::new();
            for key in keys {
                match Key::new(key.as_ref()) {
                    Ok(key) => valid.push(key),
                    Err(error) => {
                        self.check_keys(&valid, now, out);
                        valid.clear();
                        out.push(Err(error.into()));
                    }
                }
            }
            self.check_keys(&valid, now, out);
        }
    }

    fn check_keys(&self, keys: &[Key<'_>], now: Time, out: &mut Vec<Result<Decision, Error>>) {
        out.reserve(keys.len());
        if let Some(check) = self.single_check() {
            let emit = |result: Result<_, StoreError>| out.push(result.map_err(Error::from));
            return self.store.check_batch(self.policy.name(), &check, keys, now, emit);
        }
        match self.items(keys) {
            Ok(items) => self.check_items(&items, keys.len(), now, out),
            Err(error) => out.extend(keys.iter().map(|_| Err(error.clone().into()))),
        }
    }

    /// Returns the items of all keys, one key after the other. Fails for all keys alike if a limit
    /// needs a named key.
    fn items<'a>(&'a self, keys: &[Key<'a>]) -> Result<Items<'a>, MissingKey> {
        let of = |key: Key<'a>| {
            let limits = self.policy.limits().iter();
            limits.map(move |limit| limit.item(|kind| Some(key).filter(|_| kind.is_none())))
        };
        keys.iter().copied().flat_map(of).collect()
    }

    fn check_items(
        &self,
        items: &Items<'_>,
        keys: usize,
        now: Time,
        out: &mut Vec<Result<Decision, Error>>,
    ) {
        let each = self.policy.limits().len();
        let of = |key: usize| items.get(key * each..(key + 1) * each).unwrap_or_default();
        let ops: SmallVec<[Op<'_>; BATCH_SIZE]> =
            (0..keys).map(|key| self.check_op(of(key))).collect();
        self.store.apply_batch(&ops, now, |_, result| out.push(result.map_err(Error::from)));
    }
}

/// The items of a batch of checks.
type Items<'a> = SmallVec<[Item<'a>; BATCH_SIZE]>;

impl From<Policy> for Limiter {
    fn from(policy: Policy) -> Limiter {
        Limiter::new(policy)
    }
}

impl FromStr for Limiter {
    type Err = LimitError;

    /// Creates a limiter from one limit line.
    fn from_str(line: &str) -> Result<Limiter, LimitError> {
        Limiter::parse([line])
    }
}

impl fmt::Debug for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter").field("policy", &self.policy).field("store", &self.store).finish()
    }
}
