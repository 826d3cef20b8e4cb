//! Checks within one process: time per check, memory per key.

mod args;
mod bench;
mod bytes;
mod goals;
mod hot;
mod ids;
mod limit;
mod ours;
mod peers;
mod plan;
mod policies;
mod system;
mod systems;
mod uniform;

use crate::goals::print_goals;
use crate::{machine, progress, report};

pub(crate) use args::InProcessArgs;
pub(crate) use bytes::populate;
use plan::Plan;

pub(crate) fn run(args: &InProcessArgs) -> anyhow::Result<()> {
    let options = &args.options;
    let plan = Plan::new(args.rounds()?, options.quick);
    machine::print(options.json);
    options.warn_if_quick();
    let mut rows = Vec::new();
    for bench in bench::ALL.iter().filter(|bench| args.includes(bench.name)) {
        progress::begin(bench.name);
        let measured = (bench.measure)(&plan)?;
        progress::end();
        let figures = report::rows(bench.name, bench.unit, &measured);
        report::print(bench.name, bench.about, &figures, options.json)?;
        rows.extend(figures);
    }
    let mut goals = goals::all();
    goals.retain(|goal| args.includes(goal.bench));
    print_goals(&goals, &rows, options.json)
}
