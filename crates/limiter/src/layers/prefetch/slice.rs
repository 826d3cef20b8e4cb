//! Some quota that was taken ahead.

use tollgate_core::{Act, PlainStore, Time};

use crate::layers::costs::Costs;
use crate::layers::local::{Context, Write};
use crate::layers::write_ids::WriteId;

/// Some quota that was taken ahead.
#[derive(Debug, Clone)]
pub(super) struct Slice {
    pub(super) id: WriteId,
    pub(super) size: Costs,
    pub(super) left: Costs,
    /// When it was first asked for, in microseconds.
    pub(super) since: u64,
    /// When it was asked for last: the store has charged it no earlier than `since`, and hardly later than this.
    pub(super) sent_at: u64,
    /// From when on it would not count any more if nothing else did, in microseconds.
    pub(super) counts_until: u64,
    /// From when on it is not spent any more, in microseconds: slices of several windows together could exceed the
    /// limit.
    pub(super) expires_at: u64,
    /// Whether a call about it is under way. If its answer is lost, it is repeated under the same id.
    pub(super) is_awaited: bool,
    /// Whether the limits have changed since it was asked for.
    pub(super) is_outdated: bool,
}

impl Slice {
    pub(super) fn new(size: Costs, context: &Context<'_>) -> Slice {
        let items = context.op.items();
        let (now, items) = (context.now, size.items(&items));
        let charge = context.op.op(&items).with_act(Act::Charge);
        let charged = Time::from_micros(now).map(|at| PlainStore::default().apply_one(&charge, at));
        let counts_for = charged
            .and_then(Result::ok)
            .map_or(u64::MAX, |charged| charged.reset_after.as_micros());
        let (id, left) = (context.node.ids.next(), size.clone());
        let counts_until = now.saturating_add(counts_for);
        let expires_at = now.saturating_add(context.op.least_reset_after());
        Slice {
            id,
            size,
            left,
            since: now,
            sent_at: now,
            counts_until,
            expires_at,
            is_awaited: true,
            is_outdated: false,
        }
    }

    /// Returns what the store has to be asked to take.
    pub(super) fn reserve(&self) -> Write {
        Write { act: Act::Reserve, id: Some(self.id.clone()), costs: self.size.clone() }
    }

    /// Returns what the store has to be told in the end.
    pub(super) fn settle(&self) -> Write {
        let spent = self.size.less(&self.left);
        Write { act: Act::Settle, id: Some(self.id.clone()), costs: spent }
    }
}
