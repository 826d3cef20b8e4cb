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
    let mut admitted: BTreeMap<_, Vec<Event>> = BTreeMap::new();
    for call in run.calls.iter().filter(|call| call.op.act == Act::Check) {
        if call.degraded().is_some_and(|decision| decision.allowed) {
            let events = admitted.entry((call.node, &call.op.key)).or_default();
            events.push(Event::of(call));
        }
    }
    for ((node, _), events) in &admitted {
        for rule in &run.plan.rules {
            judge_share(run, rule, events).map_err(|why| format!("node {node}: {why}"))?;
        }
    }
    Ok(())
}

/// An admission by the clock of its node.
struct Event {
    /// The earliest instant it may have been decided at.
    from: u64,
    to: u64,
    cost: u64,
}

impl Event {
    /// The checks of a batch are decided one after the other, and answered together.
    fn of(call: &Call) -> Event {
        let to = call.ended_at_node;
        // Clocks are faster by a tenth at most.
        let longest = (call.ended - call.began) * 11 / 10;
        let from = if call.in_batch { to - longest } else { to };
        Event { from, to, cost: call.op.cost() }
    }
}

fn judge_share(run: &Run, rule: &Rule, events: &[Event]) -> Verdict {
    let nodes = run.plan.nodes.len() as u64;
    for index in 0..events.len() {
        let (mut admitted, mut from) = (0, u64::MAX);
        for event in &events[index..] {
            (admitted, from) = (admitted + event.cost, from.min(event.from));
            let Some(bound) = rule.bound(from, event.to, nodes) else { break };
            let to = event.to;
            ensure!(
                admitted <= bound,
                "its share is {bound}, not {admitted}: {rule:?}, {from} to {to}"
            );
        }
    }
    Ok(())
}
