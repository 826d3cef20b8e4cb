//! Every answer in the name of the store is one that the store gave to this very call, and what a node admits
//! by itself is what its distribution lets it decide.

use std::collections::HashSet;

use tollgate::{Decision, Source};

use super::{Verdict, ensure};
use crate::plan::Kind;
use crate::trace::{Call, Run};

pub(crate) fn judge(run: &Run) -> Verdict {
    let mut handed_out = HashSet::new();
    for call in run.calls.iter().chain(&run.end.calls) {
        let Some(decision) = call.decision() else { continue };
        let is_from_store = decision.source == Source::Store;
        let is_from_node = is_from_node(run, decision) && !decision.degraded;
        ensure!(!is_from_node || decision.allowed, "only the store denies: {call:?}");
        let is_known = is_from_store || is_from_node || decision.degraded;
        ensure!(is_known || !decision.allowed, "admitted by none: {call:?}");
        if !is_from_store {
            continue;
        }
        ensure!(!decision.degraded, "degraded in the name of the store: {call:?}");
        let index = booking_of(run, call)?;
        ensure!(handed_out.insert(index), "the answer of another call: {call:?}");
    }
    Ok(())
}

/// Returns whether the distribution lets a node decide so by itself.
fn is_from_node(run: &Run, decision: &Decision) -> bool {
    match run.plan.mode.kind {
        Kind::Strict => false,
        Kind::WriteBehind => decision.source == Source::Local,
        Kind::Prefetch => decision.source == Source::Prefetch,
    }
}

fn booking_of(run: &Run, call: &Call) -> Result<usize, String> {
    let decision = call.by_store().unwrap();
    let Some((index, booking)) = run.booking(decision) else {
        return Err(format!("the store did not decide this: {call:?}"));
    };
    let is_same = booking.op == call.op && booking.node == call.node;
    ensure!(is_same, "decided for another call: {call:?}, {booking:?}");
    let is_in_time = (call.began..=call.ended).contains(&booking.at);
    ensure!(is_in_time || call.op.id.is_some(), "decided at another time: {call:?}, {booking:?}");
    let agrees = decision.allowed == booking.allowed;
    ensure!(agrees, "decided otherwise: {call:?}, {booking:?}");
    Ok(index)
}
