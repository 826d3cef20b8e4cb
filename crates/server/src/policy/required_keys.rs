//! The keys that a client must give for a set of limits.

use tollgate_core::{Limit, Name, Request};

/// The subjects for which a client must give a key.
#[derive(Debug, Default)]
pub(crate) struct RequiredKeys {
    /// Names of subjects, each once.
    pub(crate) named: Vec<Name>,
    /// Whether the nameless key is needed as well.
    pub(crate) nameless: bool,
}

impl RequiredKeys {
    pub(crate) fn of(limits: &[Limit]) -> RequiredKeys {
        let mut required = RequiredKeys::default();
        for limit in limits.iter().filter(|limit| needs_key(limit)) {
            match limit.per() {
                None => required.nameless = true,
                Some(name) if required.named.contains(name) => {}
                Some(name) => required.named.push(name.clone()),
            }
        }
        required
    }

    /// Returns whether no key is needed.
    pub(crate) fn is_empty(&self) -> bool {
        self.named.is_empty() && !self.nameless
    }

    /// Returns what another limit counts, if these keys do not include it.
    pub(crate) fn missing_for(&self, limit: &Limit) -> Option<String> {
        match limit.per() {
            _ if !needs_key(limit) => None,
            Some(name) if self.named.contains(name) => None,
            Some(name) => Some(format!("per {name}")),
            None if self.nameless => None,
            None => Some(String::from("the nameless key")),
        }
    }
}

/// A limit needs a key unless it counts all clients together (`per all`).
fn needs_key(limit: &Limit) -> bool {
    Request::new().item(limit).is_err()
}
