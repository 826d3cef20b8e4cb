//! Checks of one key that are all allowed, or all denied: policies of several limits, and limits with slots.

use std::time::Instant;

use crate::in_process::limit::Pace;
use crate::in_process::plan::Plan;
use crate::in_process::systems::{self, BASE, MAIN};
use crate::keys;
use crate::rounds::{self, Contender, Sample, Series};

/// What governor has to do for two limits.
pub(crate) const TWO_CHECKS: &str = "governor two checks";
/// What governor has to do for an address, a user and all.
pub(crate) const THREE_CHECKS: &str = "governor three checks";

/// The systems of both benches, and with which each is compared.
const POLICIES: [(&str, &str); 7] = [
    (BASE, BASE),
    (TWO_CHECKS, BASE),
    (THREE_CHECKS, BASE),
    (MAIN, BASE),
    ("tollgate two gcra", TWO_CHECKS),
    ("tollgate three subjects", THREE_CHECKS),
    ("tollgate sliding-counters", MAIN),
];

pub(crate) fn allowed(plan: &Plan) -> anyhow::Result<Vec<Series>> {
    measure(plan, Pace::Allowed, &with_log("tollgate sliding-log stepped"))
}

pub(crate) fn denied(plan: &Plan) -> anyhow::Result<Vec<Series>> {
    measure(plan, Pace::Denied, &with_log("tollgate sliding-log stopped"))
}

/// Returns the systems of a bench, of which one is a log with a clock of its own.
fn with_log(log: &'static str) -> Vec<(&'static str, &'static str)> {
    [&POLICIES[..], &[(log, MAIN)]].concat()
}

pub(crate) fn check_and_release(plan: &Plan) -> anyhow::Result<Vec<Series>> {
    measure(plan, Pace::Allowed, &[(MAIN, MAIN), ("tollgate check and release", MAIN)])
}

fn measure(
    plan: &Plan,
    pace: Pace,
    systems: &[(&'static str, &'static str)],
) -> anyhow::Result<Vec<Series>> {
    let contender = |&(name, against): &(&'static str, &'static str)| {
        anyhow::Ok(Contender { name, against, system: systems::build(name, pace)? })
    };
    let contenders = systems.iter().map(contender).collect::<Result<Vec<_>, _>>()?;
    let mut key = String::new();
    keys::write(42, &mut key);
    rounds::take_turns(plan.rounds, &contenders, |system| {
        let begin = Instant::now();
        let allowed = system.check_hot(&key, plan.hot_checks);
        Ok(Sample::of_checks(begin.elapsed(), plan.hot_checks, 1, allowed))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise the benches would not measure what their names say.
    #[test]
    fn all_checks_are_allowed_or_all_but_the_first_are_denied() {
        let key = "user:000000000000001".to_owned();
        for (name, _) in with_log("tollgate sliding-log stepped") {
            let system = systems::build(name, Pace::Allowed).unwrap();
            assert_eq!(system.check_hot(&key, 250), 250, "{name}");
        }
        for (name, _) in with_log("tollgate sliding-log stopped") {
            let system = systems::build(name, Pace::Denied).unwrap();
            system.check_hot(&key, 100);
            assert_eq!(system.check_hot(&key, 250), 0, "{name}");
        }
    }

    #[test]
    fn a_lease_is_taken_and_given_back() {
        let system = systems::build("tollgate check and release", Pace::Allowed).unwrap();
        assert_eq!(system.check_hot(&"user:000000000000001".to_owned(), 250), 250);
    }
}
