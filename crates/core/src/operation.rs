//! One operation: the limits it is checked against, their subjects, and what to do.

pub(crate) mod storage;

use crate::act::{Act, MAX_COST};
use crate::decision::{LimitStatus, LimitStatuses};
use crate::error::StoreError;
use crate::limit::Limit;
use crate::subject::{Id, Name, Subject};

/// One limit, the subject it counts in this operation, and the cost it takes.
#[derive(Debug, Clone, Copy)]
pub struct Item<'a> {
    /// The limit that is checked. It needs no registration and may differ from call to call.
    pub limit: &'a Limit,
    /// The subject whose state is checked.
    pub subject: Subject<'a>,
    /// The cost, at most [`MAX_COST`]. For [`Act::Settle`] this is the actual cost.
    pub cost: u64,
}

/// One operation on limits that are allowed or denied together.
///
/// A [`Request`](crate::Request) becomes one ([`Request::op`](crate::Request::op)). A store or a layer
/// that needs another operation derives it from the one it was given ([`with_act`](Op::with_act),
/// [`with_items`](Op::with_items), [`without_id`](Op::without_id)).
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Op<'a> {
    /// The policy that the states belong to.
    pub policy: &'a Name,
    /// The limits of the policy, in order. State belongs to (policy, position, rule, subject), so
    /// that the same limit and subject may occur twice: each position has its own state.
    pub items: &'a [Item<'a>],
    /// What the operation does.
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
