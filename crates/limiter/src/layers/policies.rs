//! What each policy chooses of the layers.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use tollgate_core::Name;

use super::distribution::Distribution;

/// What a check returns while the store is unavailable.
///
/// ```
/// use tollgate::layers::OnFailure;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let store = tollgate::open("memory:").await?;
/// // The default: a request that cannot be counted passes, and is marked as degraded.
/// let api = store.limiter("api", ["gcra 100/s"])?.with_on_failure(OnFailure::Allow);
/// // Rather no login than one that is not counted.
/// let login = store.limiter("login", ["gcra 1/s"])?.with_on_failure(OnFailure::Deny);
/// assert!(!api.check("customer-7").await?.degraded);
/// assert!(login.check("203.0.113.9").await?.allowed);
/// # Ok(())
/// # }
/// # futures_executor::block_on(example()).unwrap();
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum OnFailure {
    /// The request is allowed, unless its cost exceeds the limit. This process counts it meanwhile, and
    /// charges it to the store afterwards, as far as it still counts then.
    #[default]
    Allow,
    /// The check fails with an error that [is unavailable](tollgate_core::StoreError::is_unavailable).
    Deny,
    /// This process decides alone, by its share of the limit: the limit divided by the number of nodes,
    /// rounded up. What it allowed is charged to the store afterwards, as far as it still counts then.
    Local,
}

impl OnFailure {
    /// All failure modes.
    pub const ALL: [OnFailure; 3] = [OnFailure::Allow, OnFailure::Deny, OnFailure::Local];

    /// Returns its name in the config.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            OnFailure::Allow => "allow",
            OnFailure::Deny => "deny",
            OnFailure::Local => "local",
        }
    }
}

impl fmt::Display for OnFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What the layers do for one policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PolicyLayers {
    /// What a check returns while the store is unavailable.
    pub on_failure: OnFailure,
    /// Who decides its checks.
    pub distribution: Distribution,
}

impl PolicyLayers {
    /// Returns the same with this failure mode.
    #[must_use]
    pub const fn with_on_failure(self, on_failure: OnFailure) -> PolicyLayers {
        PolicyLayers { on_failure, ..self }
    }

    /// Returns the same with this distribution.
    #[must_use]
    pub const fn with_distribution(self, distribution: Distribution) -> PolicyLayers {
        PolicyLayers { distribution, ..self }
    }
}

/// The choices of all policies, which may change while they are in use.
#[derive(Debug)]
pub(super) struct Policies {
    choices: ArcSwap<Choices>,
    /// The number of these choices: no others in this process ever have the same one.
    number: AtomicU64,
}

/// The number of the next choices.
static NEXT: AtomicU64 = AtomicU64::new(1);

thread_local! {
    /// The policy that this thread has asked for last, with the number of the choices. Every check asks, mostly for
    /// the same policy, and to see whether the choices are still the same is cheaper than to take hold of what all
    /// threads share.
    static LAST: Cell<(u64, u64, Distribution)> = const { Cell::new((0, 0, Distribution::Strict)) };
}

#[derive(Debug)]
struct Choices {
    by_name: HashMap<Name, PolicyLayers>,
    /// Those whose checks are not all decided by the store, by the digests of their names, which also keys are
    /// hashed with: each check looks here.
    distributed: Vec<(u64, Distribution)>,
}

impl Choices {
    fn new(by_name: HashMap<Name, PolicyLayers>) -> Choices {
        let each = by_name.iter().map(|(name, layers)| (name.digest(), layers.distribution));
        let mut distributed: Vec<_> =
            each.filter(|(_, distribution)| *distribution != Distribution::Strict).collect();
        distributed.sort_unstable_by_key(|(digest, _)| *digest);
        Choices { by_name, distributed }
    }

    /// Returns who decides the checks of a policy.
    #[inline]
    fn distribution(&self, name: &Name) -> &Distribution {
        let found = self.distributed.binary_search_by_key(&name.digest(), |(digest, _)| *digest);
        let found = found.ok().and_then(|index| self.distributed.get(index));
        found.map_or(&Distribution::Strict, |(_, distribution)| distribution)
    }
}

impl Default for Choices {
    fn default() -> Choices {
        Choices::new(HashMap::new())
    }
}

impl Default for Policies {
    fn default() -> Policies {
        let number = AtomicU64::new(NEXT.fetch_add(1, Ordering::Relaxed));
        Policies { choices: ArcSwap::default(), number }
    }
}

impl Policies {
    /// Returns what a policy has chosen; a policy that is not known has the defaults.
    pub(super) fn get(&self, name: &Name) -> PolicyLayers {
        self.choices.load().by_name.get(name).copied().unwrap_or_default()
    }

    /// Returns who decides the checks of a policy.
    #[inline]
    pub(super) fn distribution(&self, name: &Name) -> Distribution {
        // The number is read first: if the choices change meanwhile, what is found has an old number.
        let number = self.number.load(Ordering::Acquire);
        let (last_number, last_digest, last) = LAST.get();
        if (last_number, last_digest) == (number, name.digest()) {
            return last;
        }
        self.find_distribution(name, number)
    }

    #[cold]
    fn find_distribution(&self, name: &Name, number: u64) -> Distribution {
        let found = *self.choices.load().distribution(name);
        LAST.set((number, name.digest(), found));
        found
    }

    /// Changes what a policy has chosen.
    pub(super) fn change(&self, name: &Name, change: impl Fn(PolicyLayers) -> PolicyLayers) {
        self.choices.rcu(|before| {
            let mut by_name = before.by_name.clone();
            let layers = by_name.entry(name.clone()).or_default();
            *layers = change(*layers);
            Choices::new(by_name)
        });
        self.renumber();
    }

    /// Replaces the choices of all policies.
    pub(super) fn replace(&self, policies: HashMap<Name, PolicyLayers>) {
        self.choices.store(Arc::new(Choices::new(policies)));
        self.renumber();
    }

    fn renumber(&self) {
        self.number.store(NEXT.fetch_add(1, Ordering::Relaxed), Ordering::Release);
    }
}
