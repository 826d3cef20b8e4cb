//! Checks of one hot key.

use crate::in_process::limit::Pace;
use crate::in_process::plan::Plan;
use crate::in_process::{ours, peers, systems};
use crate::rounds::{self, Sample, Series};
use crate::{keys, threads};

pub(crate) fn one_thread(plan: &Plan) -> anyhow::Result<Vec<Series>> {
    let ours = [ours::MAIN, ours::OTHERS, ours::CACHED].concat();
    measure(plan, 1, &[peers::KEYED, peers::CACHED, peers::ONE_BUCKET, &ours])
}

pub(crate) fn two_threads(plan: &Plan) -> anyhow::Result<Vec<Series>> {
    measure(plan, 2, &[peers::KEYED, peers::ONE_BUCKET, ours::MAIN])
}

fn measure(plan: &Plan, threads: usize, groups: &[&[&'static str]]) -> anyhow::Result<Vec<Series>> {
    let contenders = systems::contenders(groups, Pace::Fast)?;
    // Each thread has its own copy of the key, as each request has.
    let keys: Vec<String> = (0..threads).map(|_| hot_key()).collect();
    rounds::take_turns(plan.rounds, &contenders, |system| {
        let work = |thread: usize| system.check_hot(&keys[thread], plan.hot_checks);
        let (time, allowed) = threads::together(threads, work);
        Ok(Sample::of_checks(time, plan.hot_checks, threads, allowed))
    })
}

fn hot_key() -> String {
    let mut key = String::new();
    keys::write(42, &mut key);
    key
}
