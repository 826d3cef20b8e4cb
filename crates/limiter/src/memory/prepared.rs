//! Room in a store for the limits of a policy.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

use tollgate_core::storage::LimitStorage as _;
use tollgate_core::{Limit, Name, Policy};

use super::store::MemoryStore;

/// Room in a [`MemoryStore`] for the limits of a policy, until this is dropped. See
/// [`MemoryStore::prepare`].
#[derive(Default)]
#[must_use = "the room is given back at once"]
pub struct Prepared {
    store: Option<Arc<MemoryStore>>,
    /// The index of the terms of each limit.
    indices: Vec<Option<NonZeroU32>>,
}

impl Prepared {
    /// Returns the index of the terms of each limit, for later checks of it.
    pub(crate) fn indices(&self) -> &[Option<NonZeroU32>] {
        &self.indices
    }
}

impl MemoryStore {
    /// Makes room for the limits of a policy: their states stay in a short form, however many other limits
    /// operations bring with them. A [`Limiter`](crate::Limiter) on this store does so by itself; this is for
    /// programs that call the store with limits of their own.
    ///
    /// There is room for about a thousand different limits at a time, in the shortest form for the first 128. Further
    /// ones compete with those of operations. Without room a state takes more memory, and nothing else is different.
    ///
    /// ```
    /// use tollgate::{MemoryStore, Name, Policy};
    ///
    /// let store = MemoryStore::builder().build()?;
    /// let login = Policy::parse(Name::new("login")?, ["gcra 5/min", "fixed-window 100/h"])?;
    /// let prepared = store.prepare(&login);
    /// // Keep it as long as you call the store with this policy.
    /// drop(prepared);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prepare(self: &Arc<Self>, policy: &Policy) -> Prepared {
        let index = |limit| self.pin_terms(policy.name(), limit);
        let indices = policy.limits().iter().map(index).collect();
        Prepared { store: Some(Arc::clone(self)), indices }
    }

    fn pin_terms(&self, policy: &Name, limit: &Limit) -> Option<NonZeroU32> {
        let quota = self.quotas.of(policy);
        NonZeroU32::new(self.layout.terms.pin(&limit.terms()?, quota.as_ref())?)
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        let Some(store) = &self.store else { return };
        self.indices.iter().flatten().for_each(|index| store.layout.terms.unpin(index.get()));
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared").field("limits", &self.indices.len()).finish_non_exhaustive()
    }
}
