//! Checks that are remembered by their ids.

use std::time::Instant;

use crate::in_process::limit::Pace;
use crate::in_process::ours::{self, IDS};
use crate::in_process::plan::Plan;
use crate::in_process::systems::{self, MAIN};
use crate::keys;
use crate::rounds::{self, Contender, Sample, Series};

/// Number of ids in a round. All of them are remembered until the end: there is room for a million and more.
const IDS_PER_ROUND: u64 = 100_000;

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
        let ids = keys_from(next, ids_per_round);
        next += ids_per_round;
        let (begin, checks) =
            (Instant::now(), if *name == MAIN { plan.hot_checks } else { ids_per_round });
        let allowed = match ids.first() {
            Some(key) if *name == MAIN => system.check_hot(key, checks),
            _ => system.check_each(&ids),
        };
        Ok(Sample::of_checks(begin.elapsed(), checks, 1, allowed))
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
