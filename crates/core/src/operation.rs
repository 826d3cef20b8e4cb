//! One operation: limits that stand or fall together, whom they count, and what to do.

use std::borrow::Cow;

use crate::act::Act;
use crate::limit::Limit;
use crate::subject::{Id, Name, Subject};

/// The most one operation can take. Costs are whole numbers from 0 to this.
pub const MAX_COST: u64 = u32::MAX as u64;

/// One limit and whom it counts in this operation.
#[derive(Debug, Clone, Copy)]
pub struct Item<'a> {
    /// The limit; it needs no registration and may differ from call to call.
    pub limit: &'a Limit,
    /// Whose state it is held against.
    pub subject: Subject<'a>,
}

/// One operation: limits that stand or fall together, and what to do with them.
#[derive(Debug, Clone, Copy)]
pub struct Op<'a> {
    /// The policy whose states these are.
    pub policy: &'a Name,
    /// Its limits in order. State belongs to (policy, position, rule, subject).
    pub items: &'a [Item<'a>],
    /// What to do.
    pub act: Act,
    /// How much, at most [`MAX_COST`]. The actual cost for `Settle`.
    pub cost: u64,
    /// Names the reservation or lease, and makes a retry safe.
    pub id: Option<Id<'a>>,
}

impl<'a> Op<'a> {
    /// Whom it counts, each once, in the order in which they come. Adding a limit for a subject that is
    /// there already changes nothing here, so that what is kept by it is found again.
    pub(crate) fn subjects(&self) -> impl Iterator<Item = Subject<'a>> + use<'a> {
        let items = self.items;
        let is_new = move |place: usize, subject: Subject<'_>| {
            items.iter().take(place).all(|earlier| earlier.subject != subject)
        };
        let subjects = items.iter().map(|item| item.subject).enumerate();
        subjects
            .filter(move |(place, subject)| is_new(*place, *subject))
            .map(|(_, subject)| subject)
    }

    /// What its leases and reservations are found under: the id, and where limits count different
    /// subjects, whose it is. Two users may choose the same id, and share the state of `per all`.
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

    /// Whether a store has anything to look up, keep or forget for it. Where no limit counts, it has not.
    #[must_use]
    pub fn touches_state(&self) -> bool {
        let counts = self.items.iter().any(|item| item.limit.capacity().is_some());
        counts || self.id.is_some() || self.act == Act::Reset
    }

    /// What is wrong with the operation itself, whatever the store.
    pub(crate) fn flaw(&self) -> Option<&'static str> {
        if self.cost > MAX_COST {
            return Some("a cost above 4294967295");
        }
        if self.act.needs_id() && self.id.is_none() {
            return Some("an operation that needs an id has none");
        }
        None
    }
}
