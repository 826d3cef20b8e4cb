//! One cost for each limit of an operation.

use std::iter::once;

use tollgate_core::{Item, Op};

/// One cost for each limit. Most policies have one, so that the first is at hand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Costs {
    first: u64,
    others: Vec<u64>,
}

impl Costs {
    /// Returns the costs of an operation.
    pub(super) fn of(op: &Op<'_>) -> Costs {
        op.items.iter().map(|item| item.cost).collect()
    }

    /// Returns no cost for each of some limits.
    pub(super) fn none(limits: usize) -> Costs {
        Costs { first: 0, others: vec![0; limits.saturating_sub(1)] }
    }

    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = u64> {
        once(self.first).chain(self.others.iter().copied())
    }

    /// Returns the number of limits.
    pub(super) fn len(&self) -> usize {
        self.others.len().saturating_add(1)
    }

    #[inline]
    pub(super) fn get(&self, position: usize) -> u64 {
        match position.checked_sub(1) {
            None => self.first,
            Some(other) => self.others.get(other).copied().unwrap_or(0),
        }
    }

    #[inline]
    fn get_mut(&mut self, position: usize) -> Option<&mut u64> {
        match position.checked_sub(1) {
            None => Some(&mut self.first),
            Some(other) => self.others.get_mut(other),
        }
    }

    /// Returns the cost of the first limit, which stands for the whole in metrics.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    #[inline]
    pub(super) fn is_none(&self) -> bool {
        self.first == 0 && self.others.iter().all(|cost| *cost == 0)
    }

    /// Returns whether none of these costs is greater than the other.
    pub(super) fn fits_in(&self, other: &Costs) -> bool {
        self.iter().zip(other.iter()).all(|(cost, room)| cost <= room)
    }

    /// Adds the costs of an operation.
    #[inline]
    pub(super) fn add_costs_of(&mut self, op: &Op<'_>) {
        for_each(op.items, |position, item| {
            self.change(position, |cost| cost.saturating_add(item.cost));
        });
    }

    /// Subtracts the costs of an operation.
    #[inline]
    pub(super) fn subtract_costs_of(&mut self, op: &Op<'_>) {
        for_each(op.items, |position, item| {
            self.change(position, |cost| cost.saturating_sub(item.cost));
        });
    }

    #[inline]
    fn change(&mut self, position: usize, change: impl FnOnce(u64) -> u64) {
        if let Some(cost) = self.get_mut(position) {
            *cost = change(*cost);
        }
    }

    /// Takes as much of a cost as there is at this position. Returns what it took.
    #[inline]
    pub(super) fn take(&mut self, position: usize, cost: u64) -> u64 {
        let Some(own) = self.get_mut(position) else { return 0 };
        let taken = cost.min(*own);
        *own -= taken;
        taken
    }

    pub(super) fn add(&mut self, other: &Costs) {
        self.combine(other, u64::saturating_add);
    }

    pub(super) fn subtract(&mut self, other: &Costs) {
        self.combine(other, u64::saturating_sub);
    }

    /// Returns each as many times.
    pub(super) fn times(&self, factor: u32) -> Costs {
        self.iter().map(|cost| cost.saturating_mul(factor.into())).collect()
    }

    /// Returns the difference of each, or 0 where the other is greater.
    pub(super) fn less(&self, other: &Costs) -> Costs {
        let mut less = self.clone();
        less.subtract(other);
        less
    }

    fn combine(&mut self, other: &Costs, combine: impl Fn(u64, u64) -> u64) {
        self.first = combine(self.first, other.first);
        let others = self.others.iter_mut().zip(&other.others);
        others.for_each(|(cost, other)| *cost = combine(*cost, *other));
    }

    /// Returns the items of an operation with these costs.
    pub(super) fn items<'a>(&self, items: &[Item<'a>]) -> Vec<Item<'a>> {
        items.iter().zip(self.iter()).map(|(item, cost)| Item { cost, ..*item }).collect()
    }
}

impl FromIterator<u64> for Costs {
    fn from_iter<I: IntoIterator<Item = u64>>(costs: I) -> Costs {
        let mut costs = costs.into_iter();
        Costs { first: costs.next().unwrap_or_default(), others: costs.collect() }
    }
}

/// Returns whether something holds for all items, with their positions. The first is dealt with by itself: most
/// policies have one limit, and for that one nothing is left of the loop.
#[inline]
pub(super) fn all<'i>(
    items: &'i [Item<'i>],
    mut holds: impl FnMut(usize, &'i Item<'i>) -> bool,
) -> bool {
    let Some((first, others)) = items.split_first() else { return true };
    holds(0, first) && (1..).zip(others).all(|(position, item)| holds(position, item))
}

/// Visits all items, with their positions, as [`all`] does.
#[inline]
pub(super) fn for_each<'i>(items: &'i [Item<'i>], mut visit: impl FnMut(usize, &'i Item<'i>)) {
    all(items, |position, item| {
        visit(position, item);
        true
    });
}
