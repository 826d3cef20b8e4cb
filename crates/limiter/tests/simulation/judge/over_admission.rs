//! Nodes that decide by themselves admit no more than their distribution promises, judged by the instant of
//! each decision.

use std::collections::HashSet;

use tollgate::{Act, Limit};

use super::ledger::{Event, Ledger, Worst, given};
use super::{Verdict, ensure};
use crate::limits::Rule;
use crate::trace::{Booking, Call, Run};

pub(crate) fn judge(run: &Run) -> Verdict {
    let nodes = run.plan.nodes.len();
    for rule in &run.plan.rules {
        let excess = run.plan.mode.excess(rule, nodes);
        ensure!(excess == promised(run, &rule.limit()), "{rule:?} promises other than {excess}");
        for key in run.end.remaining.keys() {
            let Some(worst) = worst(run, key, rule) else { continue };
            ensure!(worst.excess() <= excess, "{worst}, and {excess}, of {rule:?}");
        }
    }
    Ok(())
}

/// Returns the formula that the library exports.
fn promised(run: &Run, limit: &Limit) -> u64 {
    let distribution = run.plan.mode.distribution(run.plan.mode.part);
    distribution.max_over_admission(limit, run.plan.nodes.len() as u32)
}

/// Returns the time in which most was admitted of a key.
fn worst(run: &Run, key: &[u8], rule: &Rule) -> Option<Worst> {
    let bookings = run.bookings_of(key);
    let calls = run.calls.iter().filter(|call| call.op.key == key && call.op.act == Act::Check);
    let by_nodes = calls.clone().filter(|call| call.admitted_by_node() && is_now(call));
    let by_nodes = by_nodes.map(|call| (call.ended, Event::Admitted(call.op.cost())));
    // What is repeated under one id is admitted once.
    let mut taken = HashSet::new();
    let by_store = calls.filter_map(|call| {
        let decision = call.by_store().filter(|decision| decision.allowed)?;
        let (_, booking) = run.booking(decision)?;
        let is_same = |first: &&&Booking| first.op == booking.op && first.taken > 0;
        let is_repeated = booking.taken == 0 && booking.op.id.is_some();
        let first = bookings.iter().find(is_same).filter(|_| is_repeated);
        let at = first.map_or(booking.at, |first| first.at);
        let is_new = call.op.id.as_ref().is_none_or(|id| taken.insert(id));
        is_new.then_some((at, Event::Admitted(call.op.cost())))
    });
    let after_loss = run.plan.mode.excess_after_loss(rule, run.plan.nodes.len());
    let given = given(run, rule, &bookings, after_loss);
    let kept = run.plan.mode.keeps_for(rule);
    Ledger::new(by_store.chain(by_nodes).chain(given)).worst(rule, kept)
}

/// Returns whether the instant of a decision is known: not for the calls of a batch that waited for others.
fn is_now(call: &Call) -> bool {
    !call.in_batch || call.began == call.ended
}

/// Returns the greatest excess over a limit of a run, and the most that its distribution promises.
pub(crate) fn measure(run: &Run) -> Option<(u64, u64)> {
    let [rule] = run.plan.rules.as_slice() else { return None };
    let is_undisturbed = run.forgets.is_empty() && run.plan.calls.resets == 0;
    let observed = run.end.remaining.keys().filter_map(|key| worst(run, key, rule));
    let observed = observed.map(|worst| worst.excess()).max()?;
    is_undisturbed.then(|| (observed, run.plan.mode.excess(rule, run.plan.nodes.len())))
}
