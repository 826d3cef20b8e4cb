//! Checks of random keys of a million.

use crate::in_process::limit::Pace;
use crate::in_process::plan::Plan;
use crate::in_process::system::System;
use crate::in_process::{ours, peers, systems};
use crate::rounds::{self, Sample, Series};
use crate::{keys, threads};

pub(crate) fn one_thread(plan: &Plan) -> anyhow::Result<Vec<Series>> {
    let groups = [peers::KEYED, ours::MAIN, ours::OTHERS];
    measure(plan, Pace::Slow, 1, &groups, |system, keys| system.check_each(keys))
}

pub(crate) fn two_threads(plan: &Plan) -> anyhow::Result<Vec<Series>> {
    let groups = [peers::KEYED, ours::MAIN];
    measure(plan, Pace::Slow, 2, &groups, |system, keys| system.check_each(keys))
}

/// One and two limits, beside the base peer.
pub(crate) fn denied(plan: &Plan) -> anyhow::Result<Vec<Series>> {
    let groups: [&[&str]; 3] = [&[systems::BASE], ours::MAIN, &["tollgate two gcra"]];
    measure(plan, Pace::Denied, 1, &groups, |system, keys| system.check_each(keys))
}

/// Compared only with the base peer, which checks one key per call.
pub(crate) fn batches(plan: &Plan) -> anyhow::Result<Vec<Series>> {
    let groups: [&[&str]; 2] = [&[systems::BASE], ours::MAIN];
    measure(plan, Pace::Slow, 1, &groups, |system, keys| system.check_batches(keys))
}

fn measure(
    plan: &Plan,
    pace: Pace,
    threads: usize,
    groups: &[&[&'static str]],
    check: impl Fn(&dyn System, &[String]) -> u64 + Sync,
) -> anyhow::Result<Vec<Series>> {
    let contenders = systems::contenders(groups, pace)?;
    // Each thread has its own random keys.
    let draws: Vec<Vec<String>> =
        (1..).take(threads).map(|seed| keys::drawn(plan.draws, plan.keys, seed)).collect();
    contenders.iter().for_each(|contender| populate(contender.system.as_ref(), plan.keys));
    rounds::take_turns(plan.rounds, &contenders, |system| {
        populate(system.as_ref(), plan.keys);
        let work = |thread: usize| check(system.as_ref(), &draws[thread]);
        let (time, allowed) = threads::together(threads, work);
        Ok(Sample::of_checks(time, plan.draws, threads, allowed))
    })
}

/// Runs before the first round and before each turn: a system that dropped idle keys during the turns of
/// others must hold them all again, and every system finds the CPU caches filled with its own data, as
/// if it were alone in the process.
fn populate(system: &dyn System, keys: u64) {
    keys::each(keys, |key| {
        system.check(key);
    });
}
