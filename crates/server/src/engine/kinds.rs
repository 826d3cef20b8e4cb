//! Whom limits count.

use tollgate_core::{Limit, Name};

/// The kinds of subject for which whoever asks must give a key.
#[derive(Debug, Default)]
pub(crate) struct Kinds {
    /// Those that have a name, each once.
    pub(crate) named: Vec<Name>,
    /// Whether the nameless key is counted as well.
    pub(crate) nameless: bool,
}

impl Kinds {
    pub(crate) fn of(limits: &[Limit]) -> Kinds {
        let mut kinds = Kinds::default();
        for limit in limits.iter().filter(|limit| needs_key(limit)) {
            match limit.per() {
                None => kinds.nameless = true,
                Some(kind) if kinds.named.contains(kind) => {}
                Some(kind) => kinds.named.push(kind.clone()),
            }
        }
        kinds
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

/// Whether whoever asks must say whom it counts; not so if it counts everyone at once.
fn needs_key(limit: &Limit) -> bool {
    limit.item(|_| None).is_err()
}
