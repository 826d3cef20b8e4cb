//! What each policy chooses of the layers.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::ptr;
use std::sync::Arc;

use arc_swap::{ArcSwap, Cache};
use tollgate_core::Name;

use super::distribution::Distribution;

/// What a check returns while the store is unavailable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum OnFailure {
    /// The request is allowed, unless its cost exceeds the limit. This process counts it meanwhile, and
    /// charges it to the store afterwards, as far as it still counts then.
    #[default]
    Allow,
    /// The check fails with an error that [is unavailable](tollgate_core::StoreError::is_unavailable).
    Deny,
    /// This process decides alone, by its share of the limit: the limit divided by the number of nodes. What
    /// it allowed is charged to the store afterwards, as far as it still counts then.
    Local,
}

impl OnFailure {
    /// All modes.
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
#[derive(Debug, Default)]
pub(super) struct Policies(Arc<ArcSwap<Choices>>);

thread_local! {
    /// The choices that this thread has seen last. Every check needs them, and to see whether they are still the
    /// current ones is cheaper than to take hold of what all threads share.
    static SEEN: Cell<Option<Box<Seen>>> = const { Cell::new(None) };
}

type Seen = Cache<Arc<ArcSwap<Choices>>, Arc<Choices>>;

/// The choices at one instant.
pub(super) struct Current(Option<Box<Seen>>);

impl Current {
    /// Returns who decides the checks of a policy.
    #[inline]
    pub(super) fn distribution(&mut self, name: &Name) -> &Distribution {
        let choices = self.0.as_mut().map(|seen| seen.load());
        choices.map_or(&Distribution::Strict, |choices| choices.distribution(name))
    }
}

impl Drop for Current {
    #[inline]
    fn drop(&mut self) {
        // A thread that is ending keeps nothing.
        let _ = SEEN.try_with(|seen| seen.set(self.0.take()));
    }
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

impl Policies {
    /// Returns what a policy has chosen; a policy that is not known has the defaults.
    pub(super) fn get(&self, name: &Name) -> PolicyLayers {
        self.0.load().by_name.get(name).copied().unwrap_or_default()
    }

    /// Returns the choices as they are now.
    #[inline]
    pub(super) fn now(&self) -> Current {
        let seen = SEEN.try_with(Cell::take).ok().flatten();
        let seen = seen.filter(|seen| ptr::eq(seen.arc_swap(), &*self.0));
        let seen = seen.unwrap_or_else(|| Box::new(Cache::new(Arc::clone(&self.0))));
        Current(Some(seen))
    }

    /// Changes what a policy has chosen.
    pub(super) fn change(&self, name: &Name, change: impl Fn(PolicyLayers) -> PolicyLayers) {
        self.0.rcu(|before| {
            let mut by_name = before.by_name.clone();
            let layers = by_name.entry(name.clone()).or_default();
            *layers = change(*layers);
            Choices::new(by_name)
        });
    }

    /// Replaces the choices of all policies.
    pub(super) fn replace(&self, policies: HashMap<Name, PolicyLayers>) {
        self.0.store(Arc::new(Choices::new(policies)));
    }
}
