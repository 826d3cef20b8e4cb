//! This node's share of a limit, while it decides alone.

use tollgate_core::{Decimal, Item, Limit, Op};

/// Returns the limits of an operation, each divided by the number of nodes. A limit that cannot be divided so
/// far (its times would exceed their bounds) stays whole.
pub(super) fn limits(op: &Op<'_>, nodes: u32) -> Vec<Limit> {
    let factor = Decimal::from(nodes);
    let share = |item: &Item<'_>| match nodes {
        0 | 1 => item.limit.clone(),
        _ => item.limit.scaled(factor).unwrap_or_else(|_| item.limit.clone()),
    };
    op.items.iter().map(share).collect()
}

/// Returns the items of an operation with other limits.
pub(super) fn items<'a>(op: &Op<'a>, limits: &'a [Limit]) -> Vec<Item<'a>> {
    let with_limit = |(item, limit): (&Item<'a>, &'a Limit)| Item { limit, ..*item };
    op.items.iter().zip(limits).map(with_limit).collect()
}
