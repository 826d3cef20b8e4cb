//! The limiter: a policy and the store that counts for it.

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
use crate::memory::{Asked, BATCH, MemoryStore};
#[cfg(feature = "wait")]
use crate::queues::Queues;
use crate::request::{Keys, Request};

/// Decides whether requests may pass. Cheap to clone; clones count together.
///
/// Exact under any number of threads: N callers at once are admitted exactly as often as one caller
/// who asked N times.
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
    /// If all there is to it is one limit of one key: what the store knows its terms by.
    single: Option<SingleLimit>,
}

/// A limit that stands alone and counts the key it is asked about.
#[derive(Clone, Copy)]
struct SingleLimit {
    number: Option<NonZeroU32>,
}

impl Limiter {
    fn of(policy: Arc<Policy>, store: Arc<MemoryStore>) -> Limiter {
        let single = match policy.limits() {
            [limit] if limit.per().is_none() => {
                Some(SingleLimit { number: store.number_of(limit) })
            }
            _ => None,
        };
        Limiter { policy, store, single }
    }

    /// The limit, if all there is to it is one limit of one key.
    #[inline]
    fn single(&self) -> Option<Asked<'_>> {
        let SingleLimit { number } = self.single?;
        Some(Asked { limit: self.policy.limits().first()?, number, cost: 1 })
    }

    /// A limiter for this policy, with a store of its own.
    #[must_use]
    pub fn new(policy: Policy) -> Limiter {
        Limiter::of(Arc::new(policy), Arc::default())
    }

    /// A limiter for these limit lines, which stand or fall together.
    ///
    /// # Errors
    /// The first line that is not a limit.
    pub fn parse<L: AsRef<str>>(lines: impl IntoIterator<Item = L>) -> Result<Limiter, LimitError> {
        Policy::parse(Name::default(), lines).map(Limiter::new)
    }

    /// The same limiter on another store. Limiters on one store share its bound on keys, and those
    /// of the same name also share their counts.
    #[must_use]
    pub fn with_store(self, store: Arc<MemoryStore>) -> Limiter {
        Limiter::of(self.policy, store)
    }

    /// The same limiter under another name.
    ///
    /// # Errors
    /// If that is no name.
    pub fn with_name(self, name: &str) -> Result<Limiter, InvalidKey> {
        let policy = Policy::new(Name::new(name)?, self.policy.limits().to_vec());
        Ok(Limiter::of(Arc::new(policy), self.store))
    }

    /// The same limiter with other limits. What was used stays used: a limit that is raised helps at
    /// once, one that is lowered hands nobody a fresh burst.
    #[must_use]
    pub fn with_limits(&self, limits: Vec<Limit>) -> Limiter {
        let policy = Policy::new(self.policy.name().clone(), limits);
        Limiter::of(Arc::new(policy), self.store.clone())
    }

    /// What it goes by.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What counts for it.
    #[must_use]
    pub fn store(&self) -> &Arc<MemoryStore> {
        &self.store
    }

    #[cfg(feature = "wait")]
    pub(crate) fn queues(&self) -> &Queues {
        self.store.queues()
    }

    /// Whether a request of cost 1 may pass; if so, it is counted.
    ///
    /// # Errors
    /// If the key is empty or longer than 1,024 bytes, or a limit counts a subject that needs a
    /// [name](Limiter::keys).
    #[inline]
    pub fn check(&self, key: impl AsRef<[u8]>) -> Result<Decision, Error> {
        let key = Key::new(key.as_ref())?;
        let Some(asked) = self.single() else { return self.key(key.as_bytes()).check() };
        let now = self.store.clock().now();
        if let Some(decision) = self.store.check_word(self.policy.name(), key.into(), &asked, now) {
            return Ok(decision);
        }
        self.check_more(&asked, key, now)
    }

    #[inline(never)]
    fn check_more(&self, asked: &Asked<'_>, key: Key<'_>, now: Time) -> Result<Decision, Error> {
        if let Some(decision) = self.store.check_row(self.policy.name(), key.into(), asked, now) {
            return Ok(decision);
        }
        let items = [Item { limit: asked.limit, subject: key.into() }];
        Ok(self.store.answer_one(&self.check_of(&items), now)?)
    }

    fn check_of<'a>(&'a self, items: &'a [Item<'a>]) -> Op<'a> {
        Op { policy: self.policy.name(), items, act: Act::Check, cost: 1, id: None }
    }

    /// A request of this key, for every other cost and operation.
    pub fn key<'a>(&'a self, key: &'a (impl AsRef<[u8]> + ?Sized)) -> Request<'a> {
        Request::new(self, Keys::One(key.as_ref()))
    }

    /// A request with a key for each kind of subject, for limits with `per`; the key of limits
    /// without goes by the empty name.
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

    /// Checks many keys at once, each for itself and in order, at one instant. The answers replace
    /// what is in `out`.
    ///
    /// All keys are hashed first and looked up together, so that the processor fetches their states
    /// at the same time: several times as fast as one by one if there are many keys.
    ///
    /// ```
    /// use tollgate::Limiter;
    ///
    /// let limiter: Limiter = "gcra 1/s burst 1".parse()?;
    /// let mut answers = Vec::new();
    /// limiter.check_many(&["a", "b", "a"], &mut answers);
    /// let allowed: Vec<bool> = answers.into_iter().map(|a| a.unwrap().allowed).collect();
    /// assert_eq!(allowed, [true, true, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_many<K: AsRef<[u8]>>(&self, keys: &[K], out: &mut Vec<Result<Decision, Error>>) {
        out.clear();
        let now = self.store.clock().now();
        for keys in keys.chunks(BATCH) {
            let mut fit: SmallVec<[Key<'_>; BATCH]> = SmallVec::new();
            for key in keys {
                match Key::new(key.as_ref()) {
                    Ok(key) => fit.push(key),
                    Err(error) => {
                        self.check_keys(&fit, now, out);
                        fit.clear();
                        out.push(Err(error.into()));
                    }
                }
            }
            self.check_keys(&fit, now, out);
        }
    }

    fn check_keys(&self, keys: &[Key<'_>], now: Time, out: &mut Vec<Result<Decision, Error>>) {
        out.reserve(keys.len());
        if let Some(asked) = self.single() {
            let tell = |given: Result<_, StoreError>| out.push(given.map_err(Error::from));
            return self.store.check_batch(self.policy.name(), &asked, keys, now, tell);
        }
        match self.items_of(keys) {
            Ok(items) => self.check_items(&items, keys.len(), now, out),
            Err(error) => out.extend(keys.iter().map(|_| Err(error.clone().into()))),
        }
    }

    /// The items of each key, one key after the other. If one key lacks a subject, all do.
    fn items_of<'a>(&'a self, keys: &[Key<'a>]) -> Result<Items<'a>, MissingKey> {
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
        let ops: SmallVec<[Op<'_>; BATCH]> = (0..keys).map(|key| self.check_of(of(key))).collect();
        self.store.answer_batch(&ops, now, |_, given| out.push(given.map_err(Error::from)));
    }
}

/// The items of a batch of checks.
type Items<'a> = SmallVec<[Item<'a>; BATCH]>;

impl From<Policy> for Limiter {
    fn from(policy: Policy) -> Limiter {
        Limiter::new(policy)
    }
}

impl FromStr for Limiter {
    type Err = LimitError;

    /// A limiter for one limit line.
    fn from_str(line: &str) -> Result<Limiter, LimitError> {
        Limiter::parse([line])
    }
}

impl fmt::Debug for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter").field("policy", &self.policy).field("store", &self.store).finish()
    }
}
