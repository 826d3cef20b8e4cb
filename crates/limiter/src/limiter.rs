//! The limiter: a policy, and the store that counts for it.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::Arc;

use tollgate_core::{InvalidKey, Limit, LimitError, Name, Policy};

use crate::any_store::AnyStore;
use crate::limiter_store::{LimiterStore, Sealed as _};
use crate::memory::{MemoryStore, Prepared, SingleCheck};
use crate::shared::Registration;

/// Decides whether requests are allowed. Cheap to clone; clones count together.
///
/// Exact under any number of threads: N concurrent checks are allowed exactly as often as N checks
/// one after the other.
///
/// A limiter in memory answers at once:
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
///
/// On a store that is chosen at run time, such as Redis, the same words are awaited:
///
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let store = tollgate::open("memory:").await?;
/// let limiter = store.limiter("api", ["gcra 100/s burst 200"])?;
/// let decision = limiter.check("203.0.113.9").await?;
/// assert!(decision.allowed);
/// # Ok(())
/// # }
/// # futures_executor::block_on(example()).unwrap();
/// ```
pub struct Limiter<S: LimiterStore = MemoryStore> {
    policy: Arc<PreparedPolicy>,
    store: Arc<S>,
    registration: Arc<Registration>,
    /// Present if the policy is one limit of the nameless key, without a unit.
    single: Option<SingleLimit>,
}

/// A policy, and the room in memory for its limits.
struct PreparedPolicy {
    policy: Policy,
    prepared: Prepared,
}

/// The only limit of a policy, which counts the plain cost of the nameless key.
#[derive(Clone, Copy)]
struct SingleLimit {
    /// Index of its terms in the store.
    terms_index: Option<NonZeroU32>,
}

impl<S: LimiterStore> Limiter<S> {
    fn from_parts(policy: Policy, store: Arc<S>, registration: Arc<Registration>) -> Limiter<S> {
        let prepared = store.prepared(&policy);
        let single = match policy.limits() {
            [limit] if limit.per().is_none() && limit.unit().is_none() => {
                Some(SingleLimit { terms_index: prepared.indices().first().copied().flatten() })
            }
            _ => None,
        };
        Limiter {
            policy: Arc::new(PreparedPolicy { policy, prepared }),
            store,
            registration,
            single,
        }
    }

    /// Creates a limiter under a name that no other limiter on the store has.
    fn with_store(store: &Arc<S>, policy: Policy) -> Result<Limiter<S>, LimiterError> {
        let Some(registration) = store.shared().register(policy.name()) else {
            return Err(LimiterError(Kind::NameTaken(policy.name().clone())));
        };
        Ok(Limiter::from_parts(policy, Arc::clone(store), Arc::new(registration)))
    }

    /// Returns a check of cost 1 if the policy is one limit of the nameless key.
    #[inline]
    pub(crate) fn single_check(&self) -> Option<SingleCheck<'_>> {
        let SingleLimit { terms_index } = self.single?;
        Some(SingleCheck { limit: self.policy().limits().first()?, terms_index, cost: 1 })
    }

    /// Returns the index of the terms of each limit in the store, as far as it has one.
    #[inline]
    pub(crate) fn terms_indices(&self) -> &[Option<NonZeroU32>] {
        self.policy.prepared.indices()
    }

    /// Returns the same limiter with other limits. Usage carries over: a raised limit helps at once,
    /// and a lowered one gives no client a fresh burst.
    ///
    /// ```
    /// use tollgate::Limiter;
    ///
    /// let limiter: Limiter = "gcra 1/h burst 5".parse()?;
    /// assert_eq!(limiter.key("a").cost(5).check()?.remaining, Some(0));
    /// let raised = limiter.with_limits(vec!["gcra 1/h burst 8".parse()?]);
    /// assert_eq!(raised.check("a")?.remaining, Some(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_limits(&self, limits: Vec<Limit>) -> Limiter<S> {
        let policy = Policy::new(self.policy().name().clone(), limits);
        Limiter::from_parts(policy, Arc::clone(&self.store), Arc::clone(&self.registration))
    }

    /// Returns the policy: the name and the limits.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy.policy
    }

    /// Returns the store that keeps the counts.
    #[must_use]
    pub fn store(&self) -> &Arc<S> {
        &self.store
    }

    pub(crate) fn queues(&self) -> &crate::queues::Queues {
        &self.store.shared().queues
    }
}

#[cfg(feature = "layers")]
impl Limiter<AnyStore> {
    /// Chooses what checks return while the store is unavailable. It holds for all limiters of this name on
    /// the store. On a store without layers, such as memory, nothing changes.
    ///
    /// Default: [`OnFailure::Allow`](crate::layers::OnFailure::Allow).
    ///
    /// ```
    /// use tollgate::layers::OnFailure;
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = tollgate::open("memory:").await?;
    /// let login = store.limiter("login", ["gcra 1/s burst 5"])?.with_on_failure(OnFailure::Deny);
    /// match login.check("203.0.113.9").await {
    ///     Ok(decision) => assert!(decision.allowed),
    ///     Err(error) if error.is_unavailable() => println!("no login for now: {error}"),
    ///     Err(error) => return Err(error.into()),
    /// }
    /// # Ok(())
    /// # }
    /// # futures_executor::block_on(example()).unwrap();
    /// ```
    #[must_use]
    pub fn with_on_failure(self, on_failure: crate::layers::OnFailure) -> Limiter<AnyStore> {
        self.with_layers(|layers| layers.with_on_failure(on_failure))
    }

    /// Chooses who decides the checks: the store, or this process from what it knows. It holds for all
    /// limiters of this name on the store. On a store without layers, such as memory, nothing changes.
    ///
    /// Default: [`Distribution::Strict`](crate::layers::Distribution::Strict).
    ///
    /// ```
    /// use tollgate::layers::{Distribution, Prefetch};
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = tollgate::open("memory:").await?;
    /// let api = store.limiter("api", ["gcra 10000/s burst 20000"])?;
    /// let api = api.with_distribution(Distribution::Prefetch(Prefetch::default()));
    /// assert!(api.check("customer-7").await?.allowed);
    /// # Ok(())
    /// # }
    /// # futures_executor::block_on(example()).unwrap();
    /// ```
    #[must_use]
    pub fn with_distribution(self, distribution: crate::layers::Distribution) -> Limiter<AnyStore> {
        self.with_layers(|layers| layers.with_distribution(distribution))
    }

    fn with_layers(
        self,
        change: impl Fn(crate::layers::PolicyLayers) -> crate::layers::PolicyLayers,
    ) -> Limiter<AnyStore> {
        if let Some(layers) = self.store.layers() {
            layers.change_policy(self.policy().name(), change);
        }
        self
    }
}

impl Limiter {
    /// Creates a limiter for this policy, with a store of its own.
    #[must_use]
    pub fn new(policy: Policy) -> Limiter {
        let store = Arc::<MemoryStore>::default();
        let registration = Arc::new(store.shared().register_first(policy.name()));
        Limiter::from_parts(policy, store, registration)
    }

    /// Creates a limiter from limit lines, with a store of its own. A request must pass all of the
    /// limits.
    ///
    /// ```
    /// use tollgate::Limiter;
    ///
    /// let api = Limiter::parse(["gcra 10/s burst 20", "fixed-window 10000/day"])?;
    /// assert_eq!(api.check("customer-7")?.remaining, Some(19));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails at the first line that is not a valid limit.
    pub fn parse<L: AsRef<str>>(lines: impl IntoIterator<Item = L>) -> Result<Limiter, LimitError> {
        Policy::parse(Name::default(), lines).map(Limiter::new)
    }
}

/// Adds the method that creates a limiter on a store.
macro_rules! limiter_on {
    ($($(#[$doc:meta])* $store:ident;)*) => {
        $(impl $store {
            $(#[$doc])*
            ///
            /// The limits are lines, or [`Limit`](crate::Limit)s from their constructors. All limiters on
            /// a store share its memory, and each counts under its own name. In many processes the same
            /// name counts together; in one process only one limiter can have it, so that none counts
            /// with another by accident. To share it, clone the limiter.
            ///
            /// # Errors
            /// Fails if the name or a limit is invalid, or if another limiter on this store has the name.
            pub fn limiter<L>(
                self: &Arc<Self>,
                name: &str,
                limits: impl IntoIterator<Item = L>,
            ) -> Result<Limiter<$store>, LimiterError>
            where
                L: TryInto<Limit>,
                L::Error: Into<LimitError>,
            {
                Limiter::with_store(self, policy(name, limits)?)
            }
        })*
    };
}

limiter_on! {
    /// Creates a limiter on this store, whose operations return at once.
    MemoryStore;
    /// Creates a limiter on this store, whose operations are awaited.
    AnyStore;
}

fn policy<L>(name: &str, limits: impl IntoIterator<Item = L>) -> Result<Policy, LimiterError>
where
    L: TryInto<Limit>,
    L::Error: Into<LimitError>,
{
    let name = Name::new(name).map_err(|error| LimiterError(Kind::Name(error)))?;
    let limits = limits.into_iter().map(TryInto::try_into).collect::<Result<_, _>>();
    let limits = limits.map_err(|error| LimiterError(Kind::Limit(error.into())))?;
    Ok(Policy::new(name, limits))
}

/// The error of a limiter that cannot be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimiterError(Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Name(InvalidKey),
    NameTaken(Name),
    Limit(LimitError),
}

impl LimiterError {
    /// Returns whether another limiter on the store has the name.
    #[must_use]
    pub fn is_name_taken(&self) -> bool {
        matches!(self.0, Kind::NameTaken(_))
    }
}

impl fmt::Display for LimiterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Name(error) => error.fmt(f),
            Kind::Limit(error) => error.fmt(f),
            Kind::NameTaken(name) => write!(
                f,
                "another limiter on this store is named {:?}: clone it, or choose another name",
                name.as_str()
            ),
        }
    }
}

impl std::error::Error for LimiterError {
    /// Returns the cause of the error inside, whose own message is that of this one.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            Kind::Name(error) => error.source(),
            Kind::Limit(error) => error.source(),
            Kind::NameTaken(_) => None,
        }
    }
}

impl<S: LimiterStore> Clone for Limiter<S> {
    fn clone(&self) -> Limiter<S> {
        Limiter {
            policy: Arc::clone(&self.policy),
            store: Arc::clone(&self.store),
            registration: Arc::clone(&self.registration),
            single: self.single,
        }
    }
}

impl From<Policy> for Limiter {
    /// Creates a limiter for this policy, with a store of its own.
    fn from(policy: Policy) -> Limiter {
        Limiter::new(policy)
    }
}

impl From<Limit> for Limiter {
    /// Creates a limiter of one limit, with a store of its own.
    fn from(limit: Limit) -> Limiter {
        Limiter::new(Policy::new(Name::default(), vec![limit]))
    }
}

impl FromStr for Limiter {
    type Err = LimitError;

    /// Creates a limiter from one limit line.
    fn from_str(line: &str) -> Result<Limiter, LimitError> {
        Limiter::parse([line])
    }
}

impl<S: LimiterStore + fmt::Debug> fmt::Debug for Limiter<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter")
            .field("policy", self.policy())
            .field("store", &self.store)
            .finish()
    }
}
