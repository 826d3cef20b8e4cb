//! The systems by name.

use anyhow::Context;

use crate::in_process::limit::Pace;
use crate::in_process::system::System;
use crate::in_process::{ours, peers};
use crate::rounds::Contender;

/// The peer with which all systems are compared.
pub(crate) const BASE: &str = "governor";

/// Our main system, with which our other algorithms are compared.
pub(crate) const MAIN: &str = "tollgate";

pub(crate) fn build(name: &str, pace: Pace) -> anyhow::Result<Box<dyn System>> {
    let ours = || ours::build(name, pace).transpose();
    let built = peers::build(name, &pace.limit()).transpose().or_else(ours).transpose()?;
    built.with_context(|| format!("unknown system {name:?}"))
}

/// Returns peers and ours in the order of their turns.
pub(crate) fn contenders(
    groups: &[&[&'static str]],
    pace: Pace,
) -> anyhow::Result<Vec<Contender<Box<dyn System>>>> {
    let contender = |name| {
        let system = build(name, pace)?;
        Ok(Contender { name, against: against(name), system })
    };
    groups.concat().into_iter().map(contender).collect()
}

pub(crate) fn against(name: &str) -> &'static str {
    match name {
        "tollgate cached clock" => "governor cached clock",
        name if ours::OTHERS.contains(&name) || ours::IDS.contains(&name) => MAIN,
        _ => BASE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise the systems would not be comparable.
    #[test]
    fn every_system_allows_exactly_the_burst() {
        let key = "user:000000000000001".to_owned();
        for name in
            [peers::KEYED, peers::CACHED, peers::ONE_BUCKET, ours::MAIN, ours::CACHED].concat()
        {
            let system = build(name, Pace::Slow).unwrap();
            assert_eq!(system.check_hot(&key, 250), 100, "{name}");
        }
    }

    #[test]
    fn every_system_counts_keys_separately() {
        let keys: Vec<String> = (0..50).map(|n| format!("user:{n:015}")).collect();
        for name in [peers::KEYED, ours::MAIN].concat() {
            let system = build(name, Pace::Slow).unwrap();
            let allowed: u64 = (0..110).map(|_| system.check_each(&keys)).sum();
            assert_eq!(allowed, 50 * 100, "{name}");
        }
    }

    #[test]
    fn batches_decide_as_single_checks_do() {
        let keys: Vec<String> = (0..50).map(|n| format!("user:{n:015}")).collect();
        for name in [&[BASE], ours::MAIN].concat() {
            let system = build(name, Pace::Slow).unwrap();
            let allowed: u64 = (0..110).map(|_| system.check_batches(&keys)).sum();
            assert_eq!(allowed, 50 * 100, "{name}");
        }
    }

    #[test]
    fn all_of_ours_can_be_built() {
        for pace in [Pace::Fast, Pace::Slow] {
            assert!(
                [ours::MAIN, ours::OTHERS].concat().iter().all(|name| build(name, pace).is_ok())
            );
        }
    }

    #[test]
    fn unknown_systems_are_errors() {
        assert!(build("unknown", Pace::Fast).is_err());
    }
}
