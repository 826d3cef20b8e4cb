//! Bounds on the number of states of single policies, so that a flood of new keys on one leaves the others their
//! room.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use tollgate_core::Name;

use super::pause::Pause;

/// The number of states of a policy, or of all, and its bound.
///
/// Every state knows the quota that it counts in, since a sweep finds it without its policy. A state that was there
/// before the quota may not count in it until it has reset: a check that changes its record in place does not look.
#[derive(Debug)]
pub(crate) struct Quota {
    count: AtomicUsize,
    max: AtomicUsize,
    /// No scan for reset states is made for it meanwhile.
    pub(crate) pause: Pause,
}

/// The quota of a state; `None` if its policy has none.
pub(crate) type QuotaRef = Option<Arc<Quota>>;

impl Quota {
    pub(crate) fn new(max: usize) -> Quota {
        Quota { count: AtomicUsize::new(0), max: AtomicUsize::new(max), pause: Pause::default() }
    }

    pub(crate) fn max(&self) -> usize {
        self.max.load(Ordering::Relaxed)
    }

    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Adds to the count and returns true, unless that would exceed the bound.
    pub(crate) fn try_add(&self, more: usize) -> bool {
        let max = self.max();
        let within = |count: usize| count.checked_add(more).filter(|count| *count <= max);
        more == 0 || self.count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within).is_ok()
    }

    /// Adds a state that is there already.
    pub(crate) fn add(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn remove(&self, fewer: usize) {
        // Nearly always zero, and the counter is contended by all cores.
        if fewer > 0 {
            self.count.fetch_sub(fewer, Ordering::Relaxed);
        }
    }

    /// Returns whether there is room for so many more.
    pub(crate) fn has_room(&self, more: usize) -> bool {
        more == 0 || self.count().saturating_add(more) <= self.max()
    }
}

/// Counts a state as dropped.
pub(crate) fn count_dropped(quota: Option<&Arc<Quota>>) {
    if let Some(quota) = quota {
        quota.remove(1);
    }
}

/// Returns whether both are the same quota, or none.
pub(crate) fn is_same(one: Option<&Arc<Quota>>, other: Option<&Arc<Quota>>) -> bool {
    one.map(Arc::as_ptr) == other.map(Arc::as_ptr)
}

/// The quotas of a store. One that was set stays for the life of the store, since states count in it.
#[derive(Debug, Default)]
pub(crate) struct Quotas {
    /// Whether there are any. Mostly there are none, and no lock is taken.
    any: AtomicBool,
    by_policy: RwLock<HashMap<Name, Arc<Quota>>>,
}

impl Quotas {
    /// Returns the quota of a policy.
    #[inline]
    pub(crate) fn of(&self, policy: &Name) -> QuotaRef {
        if self.any.load(Ordering::Relaxed) { self.find(policy) } else { None }
    }

    #[cold]
    fn find(&self, policy: &Name) -> QuotaRef {
        self.by_policy.read().unwrap_or_else(PoisonError::into_inner).get(policy).cloned()
    }

    /// Sets or removes the bound of a policy.
    pub(crate) fn set(&self, policy: &Name, max_keys: Option<NonZeroUsize>) {
        let max = max_keys.map_or(usize::MAX, NonZeroUsize::get);
        let mut by_policy = self.by_policy.write().unwrap_or_else(PoisonError::into_inner);
        match by_policy.get(policy) {
            Some(quota) => quota.max.store(max, Ordering::Relaxed),
            None if max_keys.is_none() => {}
            None => {
                by_policy.insert(policy.clone(), Arc::new(Quota::new(max)));
                self.any.store(true, Ordering::Relaxed);
            }
        }
    }
}
