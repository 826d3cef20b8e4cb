//! Checks within one process: time for each check, memory for each key.

mod bench;
mod bytes;
mod goals;
mod hot;
mod limit;
mod ours;
mod peers;
mod plan;
mod system;
mod systems;
mod uniform;

use crate::args::InProcess;
use crate::{goals as judge, machine, progress, report};

pub(crate) use bench::ALL as BENCHES;
pub(crate) use bytes::fill;
use plan::Plan;

pub(crate) fn run(args: &InProcess) -> anyhow::Result<()> {
    let plan = Plan::new(args.rounds()?, args.quick);
    machine::announce(args.json);
    if args.quick {
        eprintln!("--quick: few rounds and few keys; these figures are not to be quoted");
    }
    let mut rows = Vec::new();
    for bench in BENCHES.iter().filter(|bench| args.wants(bench.name)) {
        progress::begin(bench.name);
        let measured = (bench.measure)(&plan)?;
        progress::end();
        let figures = report::rows(bench.name, bench.unit, &measured);
        match args.json {
            true => report::print_json(&figures)?,
            false => report::print_table(bench.about, &figures)?,
        }
        rows.extend(figures);
    }
    let mut goals = goals::all();
    goals.retain(|goal| args.wants(goal.bench));
    judge::judge(&goals, &rows, args.json)
}
