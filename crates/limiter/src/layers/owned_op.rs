//! An operation that outlives its caller.

use smallvec::SmallVec;
use tollgate_core::storage::LimitStorage as _;
use tollgate_core::{Act, Id, Item, Key, Limit, Name, Op, Span, Subject};

use super::costs::all;

/// An operation with its own copy of everything.
#[derive(Debug)]
pub(super) struct OwnedOp {
    policy: Name,
    items: Vec<OwnedItem>,
    act: Act,
    id: Option<Vec<u8>>,
}

#[derive(Debug)]
struct OwnedItem {
    limit: Limit,
    name: Option<Name>,
    key: Vec<u8>,
    cost: u64,
}

impl OwnedItem {
    fn as_item(&self) -> Option<Item<'_>> {
        let subject = Subject { name: self.name.as_ref(), key: Key::new(&self.key).ok()? };
        Some(Item { limit: &self.limit, subject, cost: self.cost })
    }
}

/// The items of an operation.
pub(super) type Items<'a> = SmallVec<[Item<'a>; 1]>;

impl OwnedOp {
    pub(super) fn new(op: &Op<'_>) -> OwnedOp {
        let items = op.items.iter().map(|item| OwnedItem {
            limit: item.limit.clone(),
            name: item.subject.name.cloned(),
            key: item.subject.key.as_bytes().to_vec(),
            cost: item.cost,
        });
        let id = op.id.map(|id| id.as_bytes().to_vec());
        OwnedOp { policy: op.policy.clone(), items: items.collect(), act: op.act, id }
    }

    /// Returns about how many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        let item = |item: &OwnedItem| size_of::<OwnedItem>().saturating_add(item.key.len());
        self.items.iter().map(item).sum::<usize>().saturating_add(size_of::<OwnedOp>())
    }

    /// Returns the number of its limits.
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns whether another operation has the same limits.
    #[inline]
    pub(super) fn has_limits_of(&self, op: &Op<'_>) -> bool {
        let is_equal = |position: usize, item: &Item<'_>| {
            self.items.get(position).is_some_and(|own| own.limit.has_numbers_of(item.limit))
        };
        self.items.len() == op.items.len() && all(op.items, is_equal)
    }

    /// Returns the longest time that a cost counts in one of its limits, in microseconds.
    pub(super) fn full_reset_after(&self) -> u64 {
        let resets = self.items.iter().filter_map(|item| item.limit.full_reset_after());
        resets.map(Span::as_micros).max().unwrap_or(0)
    }

    /// Returns the shortest time after which a cost may not count any more in one of its limits, in
    /// microseconds.
    pub(super) fn least_reset_after(&self) -> u64 {
        let resets = self.items.iter().filter_map(|item| item.limit.full_reset_after());
        resets.map(Span::as_micros).min().unwrap_or(u64::MAX)
    }

    /// Returns its items, which an [`Op`] borrows.
    pub(super) fn items(&self) -> Items<'_> {
        // Every key was valid before it was copied.
        self.items.iter().filter_map(OwnedItem::as_item).collect()
    }

    /// Returns the operation over its items.
    pub(super) fn op<'a>(&'a self, items: &'a [Item<'a>]) -> Op<'a> {
        let op = Op::check(&self.policy, items).with_act(self.act);
        match self.id.as_deref().map(Id::new) {
            Some(Ok(id)) => op.with_id(id),
            _ => op,
        }
    }
}
