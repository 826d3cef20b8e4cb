//! One cost for each limit of an operation.

use smallvec::SmallVec;
use tollgate_core::{Item, Op};

/// One cost for each limit. Most policies have one or two.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Costs(SmallVec<[u64; 2]>);

impl Costs {
    /// Returns the costs of an operation.
    pub(super) fn of(op: &Op<'_>) -> Costs {
        op.items.iter().map(|item| item.cost).collect()
    }

    /// Returns no cost for each of some limits.
    pub(super) fn none(limits: usize) -> Costs {
        Costs(SmallVec::from_elem(0, limits))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u64> {
        self.0.iter().copied()
    }

    /// Returns the number of limits.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn get(&self, position: usize) -> u64 {
        self.0.get(position).copied().unwrap_or(0)
    }

    /// Returns the cost of the first limit, which stands for the whole in metrics.
    pub(super) fn first(&self) -> u64 {
        self.get(0)
    }

    pub(super) fn is_none(&self) -> bool {
        self.iter().all(|cost| cost == 0)
    }

    /// Returns whether none of these costs is greater than the other.
    pub(super) fn fits_in(&self, other: &Costs) -> bool {
        self.iter().zip(other.iter()).all(|(cost, room)| cost <= room)
    }

    /// Adds the costs of an operation.
    pub(super) fn add_costs_of(&mut self, op: &Op<'_>) {
        let each = self.0.iter_mut().zip(op.items);
        each.for_each(|(cost, item)| *cost = cost.saturating_add(item.cost));
    }

    /// Subtracts the costs of an operation.
    pub(super) fn subtract_costs_of(&mut self, op: &Op<'_>) {
        let each = self.0.iter_mut().zip(op.items);
        each.for_each(|(cost, item)| *cost = cost.saturating_sub(item.cost));
    }

    /// Takes as much of a cost as there is at this position. Returns what it took.
    pub(super) fn take(&mut self, position: usize, cost: u64) -> u64 {
        let Some(own) = self.0.get_mut(position) else { return 0 };
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
        self.0.iter_mut().zip(other.iter()).for_each(|(cost, other)| *cost = combine(*cost, other));
    }

    /// Returns the items of an operation with these costs.
    pub(super) fn items<'a>(&self, items: &[Item<'a>]) -> Vec<Item<'a>> {
        items.iter().zip(self.iter()).map(|(item, cost)| Item { cost, ..*item }).collect()
    }
}

impl FromIterator<u64> for Costs {
    fn from_iter<I: IntoIterator<Item = u64>>(costs: I) -> Costs {
        Costs(costs.into_iter().collect())
    }
}
