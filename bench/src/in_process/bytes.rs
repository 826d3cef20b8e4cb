//! Memory per key.
//!
//! Every system is populated in a process of its own, so that it is not affected by allocations of
//! another.

use std::env;
use std::process::Command;

use anyhow::Context;

use crate::in_process::limit::Pace;
use crate::in_process::plan::Plan;
use crate::in_process::{ours, peers, systems};
use crate::rounds::{self, Contender, Sample, Series};
use crate::{keys, memory};

/// Maximum number of rounds: memory hardly differs between them, only by the seeds of hashes.
const MAX_ROUNDS: usize = 3;

pub(crate) fn one_million(plan: &Plan) -> anyhow::Result<Vec<Series>> {
    measure(plan, 1_000_000, &[peers::KEYED, ours::MAIN, ours::OTHERS])
}

pub(crate) fn five_million(plan: &Plan) -> anyhow::Result<Vec<Series>> {
    measure(plan, 5_000_000, &[peers::KEYED, ours::MAIN])
}

/// Bytes per remembered id, compared with bytes per key.
pub(crate) fn ids(plan: &Plan) -> anyhow::Result<Vec<Series>> {
    measure(plan, 1_000_000, &[&[systems::BASE], ours::MAIN, ours::IDS])
}

fn measure(plan: &Plan, keys: u64, groups: &[&[&'static str]]) -> anyhow::Result<Vec<Series>> {
    let keys = keys / plan.divisor;
    let named = |name| Contender { name, against: systems::against(name), system: name };
    let contenders: Vec<Contender<&str>> = groups.concat().into_iter().map(named).collect();
    rounds::take_turns(plan.rounds.min(MAX_ROUNDS), &contenders, |name| {
        let bytes = populate_in_new_process(name, keys)?;
        Ok(Sample { value: bytes as f64 / keys as f64, allowed: None })
    })
}

/// Starts this program again as `populate SYSTEM KEYS` and reads what it prints.
fn populate_in_new_process(system: &str, keys: u64) -> anyhow::Result<u64> {
    let mut command = Command::new(env::current_exe()?);
    let output = command.args(["populate", system, &keys.to_string()]).output()?;
    let failed = || format!("populating {system}: {}", String::from_utf8_lossy(&output.stderr));
    anyhow::ensure!(output.status.success(), failed());
    String::from_utf8_lossy(&output.stdout).trim().parse().with_context(failed)
}

/// Populates one system and prints by how many bytes the process grew, including what the system allocates
/// before its first key.
pub(crate) fn populate(name: &str, keys: u64) -> anyhow::Result<()> {
    let before = memory::resident()?;
    let system = systems::build(name, Pace::Slow)?;
    let mut allowed = 0;
    keys::each(keys, |key| allowed += u64::from(system.check(key)));
    let after = memory::resident()?;
    anyhow::ensure!(allowed == keys, "{allowed} of {keys} checks were allowed; expected all");
    println!("{}", after.saturating_sub(before));
    Ok(())
}
