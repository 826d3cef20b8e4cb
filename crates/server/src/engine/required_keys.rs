//! Whom limits count.

use tollgate_core::{Limit, Name};

/// The required of subject for which whoever operations must give a key.
#[derive(Debug, Default)]
pub(crate) struct RequiredKeys {
    /// Those that have a name, each once.
    pub(crate) named: Vec<Name>,
    /// Whether the nameless key is counted as well.
    pub(crate) nameless: bool,
}

impl RequiredKeys {
    pub(crate) fn of(limits: &[Limit]) -> RequiredKeys {
        let mut required = RequiredKeys::default();
        for limit in limits.iter().filter(|limit| needs_key(limit)) {
            match limit.per() {
                None => required.nameless = true,
                Some(kind) if required.named.contains(kind) => {}
                Some(kind) => required.named.push(kind.clone()),
            }
        }
        required
    }

    /// Whether nobody needs to be named.
    pub(crate) fn is_empty(&self) -> bool {
        self.named.is_empty() && !self.nameless
    }

    /// Whom another limit counts, if these do not.
    pub(crate) fn cannot_count(&self, limit: &Limit) -> Option<String> {
        match limit.per() {
            _ if !needs_key(limit) => None,
            Some(kind) if self.named.contains(kind) => None,
            Some(kind) => Some(format!("per {kind}")),
            None if self.nameless => None,
            None => Some(String::from("the nameless key")),
        }
    }
}

/// Whether whoever operations must say whom it counts; not so if it counts everyone at once.
fn needs_key(limit: &Limit) -> bool {
    limit.item(|_| None).is_err()
}
