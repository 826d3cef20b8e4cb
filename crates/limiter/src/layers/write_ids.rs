//! Ids of the writes that layers make of their own accord.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tollgate_core::Id;

use super::hash::Secret;

/// Creates ids that no other process and no client uses.
pub(super) struct WriteIds {
    tag: u64,
    next: AtomicU64,
}

/// The id of one write: repeated under it, the write is done once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WriteId(Arc<str>);

impl WriteIds {
    pub(super) fn new(secret: Secret) -> WriteIds {
        WriteIds { tag: secret.tag(), next: AtomicU64::new(0) }
    }

    pub(super) fn next(&self) -> WriteId {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        WriteId(format!("tg-{:x}-{number:x}", self.tag).into())
    }
}

impl WriteId {
    /// Returns the id. It always fits: it is far shorter than an id may be.
    pub(super) fn as_id(&self) -> Option<Id<'_>> {
        Id::new(self.0.as_bytes()).ok()
    }
}
