//! When the faults are over, the store decides again, and knows what was admitted without it.

use std::collections::{BTreeMap, HashSet};

use tollgate::layers::OnFailure;
use tollgate::{Act, Clock, LimitStatuses, Limiter, MemoryStore, Time};

use super::{Verdict, ensure};
use crate::limits::Rule;
use crate::trace::{Call, Run};

pub(crate) fn judge(run: &Run) -> Verdict {
    for (node, (is_open, error)) in run.end.is_open.iter().zip(&run.end.last_errors).enumerate() {
        ensure!(!is_open, "node {node} does not ask the store");
        ensure!(error.is_none(), "node {node} still reports {error:?}");
    }
    for call in &run.end.calls {
        ensure!(call.decision().is_some_and(|of| !of.degraded), "not from the store: {call:?}");
    }
    let is_given_back = run.plan.calls.refunds + run.plan.calls.resets > 0;
    let is_charged = run.plan.mode.on_failure != OnFailure::Deny;
    if !is_charged || is_given_back || run.plan.is_skewed() || !run.forgets.is_empty() {
        return Ok(());
    }
    for (key, remaining) in &run.end.remaining {
        judge_key(run, key, remaining)?;
    }
    Ok(())
}

/// What nodes admitted without the store and still counts has been charged.
fn judge_key(run: &Run, key: &[u8], remaining: &[u64]) -> Verdict {
    let by_node = admitted_alone(run, key);
    let rules = &run.plan.rules;
    // A node counts no more than a limit holds. Beyond that it is not known which ones it counts.
    let least = rules.iter().map(Rule::capacity).min().unwrap();
    let is_capped =
        |calls: &Vec<&Call>| calls.iter().map(|call| call.op.cost()).sum::<u64>() > least;
    if by_node.values().any(is_capped) {
        return Ok(());
    }
    let used: Vec<Vec<u64>> = by_node.values().map(|calls| still_used(run, calls)).collect();
    for (position, (rule, remaining)) in rules.iter().zip(remaining).enumerate() {
        if !is_comparable(run, key, rule) {
            continue;
        }
        let used: u64 = used.iter().map(|used| used[position]).sum();
        // What is left of a level is rounded, once for each node, and drops leave at other times.
        let slack = run.plan.nodes.len() as u64 + rule.after_reset() - rule.capacity();
        let at_most = rule.capacity().saturating_sub(used.saturating_sub(slack));
        ensure!(*remaining <= at_most, "{remaining} remain of {rule:?}, where {used} were used");
    }
    Ok(())
}

/// Returns whether it is known how much of what was charged still counts at the end.
fn is_comparable(run: &Run, key: &[u8], rule: &Rule) -> bool {
    match rule {
        // What is charged counts in the window that the store has open, which may end earlier.
        Rule::RequestWindow { .. } => false,
        // What was charged before and what was not yet sink at the same time, each at the full rate.
        Rule::Gcra { .. } | Rule::TokenBucket { .. } | Rule::LeakyBucket { .. } => {
            (0..run.plan.nodes.len()).all(|node| charges(run, key, node) <= 1)
        }
        _ => true,
    }
}

/// Returns how many charges a node made for what it had admitted without the store.
fn charges(run: &Run, key: &[u8], node: usize) -> usize {
    let bookings = run.bookings.iter().filter(|booking| booking.node == node);
    let charges = bookings.filter(|booking| booking.op.key == key && booking.op.act == Act::Charge);
    let ids = charges.filter_map(|charge| charge.op.id.as_ref());
    ids.filter(|id| id.starts_with(b"tg-")).collect::<HashSet<_>>().len()
}

/// Returns the checks of a key that each node admitted without the store, and without having asked it: what was sent
/// and not answered is not charged, since the store may have counted it. An attempt takes a while to fail.
fn admitted_alone<'r>(run: &'r Run, key: &[u8]) -> BTreeMap<usize, Vec<&'r Call>> {
    let mut by_node: BTreeMap<usize, Vec<&Call>> = BTreeMap::new();
    for call in run.calls.iter().filter(|call| call.op.key == key && call.op.act == Act::Check) {
        let is_allowed = call.degraded().is_some_and(|decision| decision.allowed);
        if is_allowed && call.began == call.ended {
            by_node.entry(call.node).or_default().push(call);
        }
    }
    by_node
}

/// Returns how much of each limit would still count at the end if nothing else had happened.
fn still_used(run: &Run, calls: &[&Call]) -> Vec<u64> {
    let store = MemoryStore::builder().clock(Clock::manual()).build().unwrap();
    let lines = run.plan.rules.iter().map(Rule::line);
    let limiter: Limiter = store.limiter("expected", lines).unwrap();
    let time = |micros: u64| Time::from_micros(micros).unwrap();
    for call in calls {
        let _ = limiter.key("key").cost(call.op.cost()).at(time(call.ended)).check().unwrap();
    }
    let statuses = LimitStatuses::default();
    let _ = limiter.key("key").at(time(run.end.at)).statuses(&statuses).peek().unwrap();
    let used = |status: &tollgate::LimitStatus| status.limit.unwrap() - status.remaining.unwrap();
    statuses.to_vec().iter().map(used).collect()
}
