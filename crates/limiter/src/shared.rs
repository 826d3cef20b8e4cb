//! What the limiters on one store share beside its states: their names, and the queues of waiters.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use tollgate_core::Name;

use crate::queues::Queues;

/// What the limiters on one store share.
#[derive(Default)]
pub struct Shared {
    /// The names of the limiters that exist now. State belongs to a name: two limiters under one name
    /// would count together.
    names: Mutex<HashSet<Name>>,
    /// Callers that wait for a check to pass, through any limiter on the store.
    pub(crate) queues: Queues,
}

impl Shared {
    /// Registers the name of a limiter, until the registration is dropped. Returns `None` if another
    /// limiter has it.
    pub(crate) fn register(self: &Arc<Self>, name: &Name) -> Option<Registration> {
        let is_new = self.names(|names| names.insert(name.clone()));
        is_new.then(|| self.registration(name))
    }

    /// Registers the name of the only limiter on a new store.
    pub(crate) fn register_first(self: &Arc<Self>, name: &Name) -> Registration {
        self.names(|names| names.insert(name.clone()));
        self.registration(name)
    }

    fn registration(self: &Arc<Self>, name: &Name) -> Registration {
        Registration { shared: Arc::clone(self), name: name.clone() }
    }

    fn names<T>(&self, change: impl FnOnce(&mut HashSet<Name>) -> T) -> T {
        // The set is never left half changed.
        change(&mut self.names.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The name of a limiter and its clones, which no other limiter on the store can have meanwhile.
pub(crate) struct Registration {
    shared: Arc<Shared>,
    name: Name,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.shared.names(|names| names.remove(&self.name));
    }
}
