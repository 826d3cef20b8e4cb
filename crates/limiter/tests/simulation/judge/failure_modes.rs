//! A store that fails changes only what the failure mode of the policy says, and a store that answers is
//! always asked.

use std::collections::BTreeMap;

use tollgate::layers::OnFailure;
use tollgate::{Act, Source};

use super::{Verdict, ensure};
use crate::limits::Rule;
use crate::trace::{Call, CallResult, Run};

pub(crate) fn judge(run: &Run) -> Verdict {
    for call in &run.calls {
        judge_call(run, call)?;
    }
    if run.plan.mode.on_failure == OnFailure::Local { judge_shares(run) } else { Ok(()) }
}

fn judge_call(run: &Run, call: &Call) -> Verdict {
    let on_failure = run.plan.mode.on_failure;
    let may_decide = matches!(call.op.act, Act::Check | Act::Peek);
    if run.plan.is_calm {
        ensure!(call.degraded().is_none(), "the store was not asked: {call:?}");
        ensure!(call.result != CallResult::Unavailable, "the store answers: {call:?}");
    }
    if call.result == CallResult::Unavailable {
        let is_error = on_failure == OnFailure::Deny || !may_decide;
        ensure!(is_error, "an error in spite of `{on_failure}`: {call:?}");
    }
    ensure!(!matches!(call.result, CallResult::Failed(_)), "failed: {call:?}");
    let Some(decision) = call.degraded() else { return Ok(()) };
    let expected = match on_failure {
        OnFailure::Allow => Source::FailureMode,
        _ => Source::Local,
    };
    let is_allowed_to = may_decide && on_failure != OnFailure::Deny;
    ensure!(is_allowed_to && decision.source == expected, "decided without the store: {call:?}");
    if on_failure == OnFailure::Allow {
        let fits = run.plan.rules.iter().all(|rule| call.op.cost() <= rule.capacity());
        ensure!(decision.allowed == fits, "only what never fits is denied: {call:?}");
    }
    Ok(())
}

/// Each node admits at most its share by itself, by its own clock.
fn judge_shares(run: &Run) -> Verdict {
    let mut admitted: BTreeMap<_, Vec<(u64, u64)>> = BTreeMap::new();
    for call in run.calls.iter().filter(|call| call.op.act == Act::Check) {
        if call.degraded().is_some_and(|decision| decision.allowed) {
            let events = admitted.entry((call.node, &call.op.key)).or_default();
            events.push((call.ended_at_node, call.op.cost()));
        }
    }
    for ((node, _), events) in &admitted {
        for rule in &run.plan.rules {
            judge_share(run, rule, events).map_err(|why| format!("node {node}: {why}"))?;
        }
    }
    Ok(())
}

fn judge_share(run: &Run, rule: &Rule, events: &[(u64, u64)]) -> Verdict {
    let nodes = run.plan.nodes.len() as u64;
    for (index, (from, _)) in events.iter().enumerate() {
        let mut admitted = 0;
        for (to, cost) in &events[index..] {
            admitted += cost;
            let Some(bound) = rule.bound(*from, *to, nodes) else { break };
            ensure!(
                admitted <= bound,
                "its share is {bound}, not {admitted}: {rule:?}, {from} to {to}"
            );
        }
    }
    Ok(())
}
