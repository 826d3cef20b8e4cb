//! One operation: the limits it is checked against, their subjects, and what to do.

use std::borrow::Cow;

use crate::act::{Act, MAX_COST};
use crate::decision::{LimitStatus, LimitStatuses};
use crate::error::StoreError;
use crate::limit::Limit;
use crate::subject::{Id, Name, Subject};
use crate::time::Span;

/// How long an operation that took or gave something is remembered by its id.
const ID_TTL: Span = Span::from_micros(60_000_000);

/// One limit, the subject it counts in this operation, and the cost it takes.
#[derive(Debug, Clone, Copy)]
pub struct Item<'a> {
    /// The limit. It needs no registration and may differ from call to call.
    pub limit: &'a Limit,
    /// The subject whose state is checked.
    pub subject: Subject<'a>,
    /// The cost, at most [`MAX_COST`]. For [`Act::Settle`] this is the actual cost.
    pub cost: u64,
}

/// One operation on limits that are allowed or denied together.
///
/// A [`Request`](crate::Request) builds it. A store or a layer that needs another operation derives
/// it from the one it was given ([`with_act`](Op::with_act), [`with_items`](Op::with_items),
/// [`without_id`](Op::without_id)).
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Op<'a> {
    /// The policy that the states belong to.
    pub policy: &'a Name,
    /// The limits of the policy, in order. State belongs to (policy, position, rule, subject), so
    /// that the same limit and subject may occur twice: each position has its own state.
    pub items: &'a [Item<'a>],
    /// What to do.
    pub act: Act,
    /// The id, which names the reservation or lease and makes a retry safe.
    pub id: Option<Id<'a>>,
    /// Where to put the status of each limit, if the caller asks for it.
    pub statuses: Option<&'a LimitStatuses>,
}

impl<'a> Op<'a> {
    /// Creates a check of these items, without an id.
    #[must_use]
    pub const fn check(policy: &'a Name, items: &'a [Item<'a>]) -> Op<'a> {
        Op { policy, items, act: Act::Check, id: None, statuses: None }
    }

    /// Returns the same operation with another act.
    #[must_use]
    pub const fn with_act(self, act: Act) -> Op<'a> {
        Op { act, ..self }
    }

    /// Returns the same operation on other items.
    #[must_use]
    pub const fn with_items<'b>(self, items: &'b [Item<'b>]) -> Op<'b>
    where
        'a: 'b,
    {
        Op { items, ..self }
    }

    /// Returns the same operation with this id.
    #[must_use]
    pub const fn with_id(self, id: Id<'a>) -> Op<'a> {
        Op { id: Some(id), ..self }
    }

    /// Returns the same operation without its id.
    #[must_use]
    pub const fn without_id(self) -> Op<'a> {
        Op { id: None, ..self }
    }

    /// Returns whether any limit takes a cost above zero.
    #[must_use]
    pub fn has_cost(&self) -> bool {
        self.items.iter().any(|item| item.cost > 0)
    }

    /// Reports the status of each limit, in order, if the caller asked for it.
    #[inline]
    pub fn report(&self, each: impl IntoIterator<Item = LimitStatus>) {
        if let Some(statuses) = self.statuses {
            statuses.set(each);
        }
    }

    /// Returns the distinct subjects, in order of first appearance. Another limit for the same
    /// subject does not change them, so that what is stored by them is found again.
    pub(crate) fn subjects(&self) -> impl Iterator<Item = Subject<'a>> + use<'a> {
        let items = self.items;
        let is_new = move |index: usize, subject: Subject<'_>| {
            items.iter().take(index).all(|earlier| earlier.subject != subject)
        };
        let subjects = items.iter().map(|item| item.subject).enumerate();
        subjects
            .filter(move |(index, subject)| is_new(*index, *subject))
            .map(|(_, subject)| subject)
    }

    /// Returns what its leases and reservations are found by: the id and, if its limits count
    /// different subjects, the subjects. Two users may choose the same id and share the state of
    /// `per all`.
    #[must_use]
    pub fn handle(&self) -> Option<Cow<'a, [u8]>> {
        let id = self.id?.as_bytes();
        if self.subjects().nth(1).is_none() {
            return Some(Cow::Borrowed(id));
        }
        let mut handle = id.to_vec();
        for subject in self.subjects() {
            subject.write_to(&mut handle);
        }
        Some(Cow::Owned(handle))
    }

    /// Returns whether a store has anything to read or write for it. It has not if all limits are
    /// unlimited, unless there is an id to remember or a key to reset.
    #[must_use]
    pub fn touches_state(&self) -> bool {
        let counts = self.items.iter().any(|item| item.limit.capacity().is_some());
        counts || self.id.is_some() || self.act == Act::Reset
    }

    /// Returns how long its decision is remembered by its id, if it is remembered at all: see
    /// [`Outcome::remember_until`](crate::storage::Outcome::remember_until).
    #[must_use]
    pub fn id_ttl(&self) -> Span {
        let takes = matches!(self.act, Act::Check | Act::Reserve | Act::Charge);
        let leases = self.items.iter().filter_map(|item| item.limit.rule().ttl());
        leases.filter(|_| takes).fold(ID_TTL, Span::min)
    }

    /// Checks what no store can apply.
    ///
    /// # Errors
    /// Fails if a cost exceeds [`MAX_COST`], or an id is needed and missing.
    pub fn validate(&self) -> Result<(), StoreError> {
        if self.items.iter().any(|item| item.cost > MAX_COST) {
            return Err(StoreError::malformed("cost exceeds 4294967295"));
        }
        if self.act.needs_id() && self.id.is_none() {
            return Err(StoreError::malformed("missing id"));
        }
        Ok(())
    }
}
