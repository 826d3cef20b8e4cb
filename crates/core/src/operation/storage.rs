//! What a store asks of an operation: what it is found by, and for how long.

use std::hash::Hasher;

use super::Op;
use crate::act::Act;
use crate::idempotency::Scope;
use crate::sealed::Sealed;
use crate::subject::{Id, Name, Subject};
use crate::time::Span;

/// How long an operation that took or gave something is remembered by its id.
const ID_TTL: Span = Span::from_micros(60_000_000);

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

    /// Returns how long its decision is remembered by its id, if it is remembered at all: see
    /// [`Outcome::remember_until`](crate::storage::Outcome::remember_until).
    #[must_use]
    fn id_ttl(&self) -> Span;
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

    fn id_ttl(&self) -> Span {
        let takes = matches!(self.act, Act::Check | Act::Reserve | Act::Charge);
        let leases = self.items.iter().filter_map(|item| item.limit.rule().ttl());
        leases.filter(|_| takes).fold(ID_TTL, Span::min)
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
