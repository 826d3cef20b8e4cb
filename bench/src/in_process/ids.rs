//! Checks that are remembered by their ids.

use std::time::{Duration, Instant};

use crate::in_process::limit::Pace;
use crate::in_process::ours::{self, IDS};
use crate::in_process::plan::Plan;
use crate::in_process::systems::{self, MAIN};
use crate::keys;
use crate::rounds::{self, Contender, Sample, Series};

/// Number of ids in a round. All of them are remembered until the end: there is room for a million and more.
const IDS_PER_ROUND: u64 = 100_000;

/// Number of ids that are made before they are used, untimed. So few are in the cache of the processor, as that of a
/// request just parsed is.
const IDS_AT_ONCE: u64 = 1_000;

/// Checks of one key, each with an id of its own, compared with checks without ids. All of them are allowed: what is denied
/// is not remembered.
pub(crate) fn fresh(plan: &Plan) -> anyhow::Result<Vec<Series>> {
    let ids_per_round = IDS_PER_ROUND / plan.divisor;
    let contender = |name| {
        let system = systems::build(name, Pace::Allowed)?;
        anyhow::Ok(Contender { name, against: MAIN, system: (name, system) })
    };
    let names = [ours::MAIN, IDS].concat();
    let contenders = names.into_iter().map(contender).collect::<Result<Vec<_>, _>>()?;
    let mut next = 0_u64;
    rounds::take_turns(plan.rounds, &contenders, |(name, system)| {
        if *name == MAIN {
            let key = keys_from(0, 1).concat();
            let begin = Instant::now();
            let allowed = system.check_hot(&key, plan.hot_checks);
            return Ok(Sample::of_checks(begin.elapsed(), plan.hot_checks, 1, allowed));
        }
        let (mut time, mut allowed) = (Duration::ZERO, 0);
        let past = next + ids_per_round;
        while next < past {
            let ids = keys_from(next, IDS_AT_ONCE.min(past - next));
            next += IDS_AT_ONCE.min(past - next);
            let begin = Instant::now();
            allowed += system.check_each(&ids);
            time += begin.elapsed();
        }
        Ok(Sample::of_checks(time, ids_per_round, 1, allowed))
    })
}

fn keys_from(first: u64, count: u64) -> Vec<String> {
    let key = |number| {
        let mut key = String::new();
        keys::write(number, &mut key);
        key
    };
    (first..first + count).map(key).collect()
}
