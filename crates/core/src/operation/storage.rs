//! What a store asks of an operation: what it is found by, and how long it is remembered.

use std::hash::Hasher;

use super::{Item, Op};
use crate::act::Act;
use crate::idempotency::Scope;
use crate::sealed::Sealed;
use crate::subject::{Id, Name, Subject};
use crate::time::Span;

/// How long an operation that took or gave something is remembered by its id.
pub const ID_TTL: Span = Span::from_micros(60_000_000);

/// What a store asks of an [`Op`].
pub trait OpStorage: Sealed {
    /// Hashes what its leases and reservations are found by, for a [`Handle`](crate::storage::Handle):
    /// the id and all subjects. Two users may choose the same id and share the state of `per all`.
    ///
    /// The bytes are the same on every machine. The state they are kept in belongs to a policy, so the
    /// policy is not among them.
    fn hash_handle(&self, hasher: &mut impl Hasher);

    /// Returns the scope of the ids that it may use or forget; `None` if it has nothing to do with
    /// ids.
    #[must_use]
    fn id_scope(&self) -> Option<Scope>;

    /// Returns whether it may use or forget ids.
    #[must_use]
    fn concerns_ids(&self) -> bool;

    /// Returns whether a store has anything to read or write for it. It has not if all limits are
    /// unlimited, unless there is an id to remember or a key to reset.
    #[must_use]
    fn touches_state(&self) -> bool;

    /// Returns whether it takes leases. A remembered decision of such an operation is returned again only while they
    /// are [still held](crate::storage::LimitStorage::still_holds) in every limit: once a lease has ended, another
    /// caller may hold it, and the operation is decided as if it had not been remembered.
    #[must_use]
    fn takes_leases(&self) -> bool;
}

impl OpStorage for Op<'_> {
    fn hash_handle(&self, hasher: &mut impl Hasher) {
        hash_field(hasher, self.id.map_or(&[][..], Id::as_bytes));
        self.hash_subjects(hasher);
    }

    fn id_scope(&self) -> Option<Scope> {
        self.concerns_ids().then(|| Scope::of(self))
    }

    fn concerns_ids(&self) -> bool {
        self.id.is_some() || self.act == Act::Reset
    }

    fn touches_state(&self) -> bool {
        let counts = self.items.iter().any(|item| item.limit.capacity().is_some());
        counts || self.id.is_some() || self.act == Act::Reset
    }

    fn takes_leases(&self) -> bool {
        let takes = |item: &Item<'_>| item.cost > 0 && item.limit.rule().gives_leases();
        matches!(self.act, Act::Check | Act::Reserve) && self.items.iter().any(takes)
    }
}

impl Op<'_> {
    #[inline]
    fn hash_subjects(&self, hasher: &mut impl Hasher) {
        // Most operations have one: nothing to compare.
        if let [item] = self.items {
            return hash_subject(hasher, item.subject);
        }
        self.subjects().for_each(|subject| hash_subject(hasher, subject));
    }
}

#[inline]
fn hash_subject(hasher: &mut impl Hasher, subject: Subject<'_>) {
    hash_field(hasher, subject.name.map_or("", Name::as_str).as_bytes());
    hash_field(hasher, subject.key.as_bytes());
}

/// Hashes a field with its length, so that different lists of fields are hashed differently.
#[inline]
fn hash_field(hasher: &mut impl Hasher, field: &[u8]) {
    let length = u32::try_from(field.len()).unwrap_or(u32::MAX);
    hasher.write(&length.to_le_bytes());
    hasher.write(field);
}
