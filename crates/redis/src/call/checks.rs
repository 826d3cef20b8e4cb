//! Several checks of one key in one call.
//!
//! Callers that wait for the same key at the same moment would each pay for a call of their own: finding the
//! script, reading the state, writing it. Here consecutive checks of a slice share one call, and the script
//! decides them in their order (`lua/runs.lua`). Each is still decided by itself, with its own cost and id,
//! as if it had been sent alone at that instant: costs are never added up and then allowed or denied together.

mod answers;

use tollgate_core::remote::LimitParams as _;
use tollgate_core::{Act, Id, Item, Limit, MAX_COALESCED, Op};

use crate::call::argument::put_run_cost;
use crate::call::bytes::put;
use crate::call::keys::Prefix;
use crate::call::reply::CallTerms;
use crate::call::{Call, SlotOp, When, put_limits, state_keys};
use crate::script::Scripts;
use crate::shape::{RuleKind, Shape, ShortVec, all_positions};

/// Checks of the same subjects under the same limits, at most [`MAX_COALESCED`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Checks<'t, 'a, 'p> {
    first: &'t Op<'a>,
    all: &'t [SlotOp<'a, 'p>],
}

/// A number of equal checks without an id, or one check with an id.
struct Run<'t, 'a, 'p> {
    first: &'t Op<'a>,
    all: &'t [SlotOp<'a, 'p>],
}

/// Whether two operations can be decided in one call: checks of the same subjects under the same limits.
///
/// Not with `concurrency`, whose leases belong to single ids, and not with `count-denied`, under which a
/// denied check changes the state.
pub(crate) fn can_share_call(one: &Op<'_>, next: &Op<'_>) -> bool {
    let same = |(one, next): (&Item<'_>, &Item<'_>)| {
        one.subject == next.subject && same_limit(one.limit, next.limit)
    };
    let can_share = |item: &Item<'_>| {
        !item.limit.counts_denied() && RuleKind::of(&item.limit.params()) != RuleKind::Held
    };
    one.act == Act::Check
        && next.act == Act::Check
        && one.policy == next.policy
        && one.items.len() == next.items.len()
        && one.items.iter().zip(next.items).all(same)
        && one.items.iter().all(can_share)
}

fn same_limit(one: &Limit, other: &Limit) -> bool {
    std::ptr::eq(one, other) || one == other
}

/// Whether two checks belong to one run.
fn is_equal(one: &SlotOp<'_, '_>, next: &SlotOp<'_, '_>) -> bool {
    let mut costs = one.op.items.iter().zip(next.op.items);
    one.op.id.is_none() && next.op.id.is_none() && costs.all(|(one, next)| one.cost == next.cost)
}

impl<'t, 'a, 'p> Checks<'t, 'a, 'p> {
    /// Divides checks that can share a call into as few calls as possible.
    pub(crate) fn of_all(all: &'t [SlotOp<'a, 'p>]) -> impl Iterator<Item = Checks<'t, 'a, 'p>> {
        let chunks = all.chunks(MAX_COALESCED);
        chunks.filter_map(|all| Some(Checks { first: &all.first()?.op, all }))
    }

    /// Returns the first check, which stands for all where they are the same.
    pub(crate) fn first(&self) -> &'t Op<'a> {
        self.first
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    fn runs(&self) -> impl Iterator<Item = Run<'t, 'a, 'p>> {
        let runs = self.all.chunk_by(is_equal);
        runs.filter_map(|all| Some(Run { first: &all.first()?.op, all }))
    }

    fn ids(&self) -> impl Iterator<Item = Id<'a>> {
        self.all.iter().filter_map(|check| check.op.id)
    }

    /// Returns the call that decides them.
    pub(crate) fn call(&self, when: &When, prefix: &Prefix, scripts: &Scripts) -> Call {
        let (first, with_ids) = (self.first, self.ids().next().is_some());
        let shape = Shape::of_checks(first, with_ids, when.at.is_some());
        let keys = self.keys(&shape, prefix, with_ids);
        let argument = self.argument(when);
        let terms = CallTerms::of(first, all_positions(first));
        Call { script: scripts.of(shape), keys, argument, terms }
    }

    /// Returns the keys: those of the subjects, and if there are ids that of the generation and of each id.
    fn keys(&self, shape: &Shape, prefix: &Prefix, with_ids: bool) -> ShortVec<Vec<u8>> {
        let mut keys = state_keys(self.first, shape, all_positions(self.first), prefix);
        if with_ids {
            let scope = prefix.scope(self.first, &keys);
            keys.push(scope.generation());
            keys.extend(self.ids().map(|id| scope.id(id)));
        }
        keys
    }

    /// Returns the argument: the time, the numbers of each limit, and the runs.
    fn argument(&self, when: &When) -> Vec<u8> {
        let mut out = Vec::new();
        put_limits(&mut out, self.first, all_positions(self.first), when);
        for run in self.runs() {
            run.write_to(&mut out);
        }
        out
    }
}

impl Run<'_, '_, '_> {
    fn write_to(&self, out: &mut Vec<u8>) {
        let with_id = self.first.id.is_some();
        out.push(if with_id { 0 } else { u8::try_from(self.all.len()).unwrap_or(u8::MAX) });
        for item in self.first.items {
            put_run_cost(out, item);
        }
        if with_id {
            let mut terms = Vec::new();
            CallTerms::of(self.first, all_positions(self.first)).write_to(&mut terms);
            put(out, u64::try_from(terms.len()).unwrap_or(u64::MAX), 2);
            out.extend_from_slice(&terms);
        }
    }
}
