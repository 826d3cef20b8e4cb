//! Our server and others: requests per second of CPU time, with the server on one core and the load on
//! the other.

mod args;
mod bench;
mod bytes;
mod goals;
mod load;
mod plan;
mod process;
mod programs;
mod systems;

use std::net::SocketAddr;

use anyhow::Context;
use tollgate_core::{Name, Policy};
use tollgate_server::Server;

use crate::goals::print_goals;
use crate::rounds::{self, Sample, Series};
use crate::{machine, progress, report};

use args::Protocol;
pub(crate) use args::{ServeArgs, ServerArgs};
use bench::Bench;
use plan::Plan;
use systems::Running;

pub(crate) fn run(args: &ServerArgs) -> anyhow::Result<()> {
    let options = &args.options;
    let plan = Plan::new(args.rounds()?, options.quick);
    machine::print(options.json);
    options.warn_if_quick();
    let mut rows = Vec::new();
    for bench in bench::ALL.iter().filter(|bench| args.includes(bench.name)) {
        let figures = report::rows(bench.name, bench.unit, &measure(bench, &plan)?);
        report::print(bench.name, bench.about, &figures, options.json)?;
        rows.extend(figures);
    }
    print_goals(&goals::ALL, &rows, options.json)
}

/// Measures all systems of one bench in turns. Each is started once.
fn measure(bench: &Bench, plan: &Plan) -> anyhow::Result<Vec<Series>> {
    let mut running = Vec::new();
    for system in bench.systems {
        if let Some(process) = Running::start(system)? {
            running.push(process);
        }
    }
    progress::begin(bench.name);
    let samples = rounds::alternate(plan.rounds, running.len(), |index| {
        let process = &running[index];
        let value = (bench.value)(process, plan).with_context(|| process.system.name)?;
        Ok(Sample { value, allowed: None })
    })?;
    progress::end();
    let base = bench.systems.first().map_or("", |system| system.name);
    let has_base = running.iter().any(|process| process.system.name == base);
    let series = |(process, samples): (&Running, Vec<Sample>)| {
        let against = if has_base { base } else { process.system.name };
        Series::new(process.system.name, against, samples)
    };
    Ok(running.iter().zip(samples).map(series).collect())
}

/// Limit of the policy for `/v1/check`: the same as in the commands of the Redis protocol.
const LIMIT: &str = "gcra 30/min burst 16";

/// Runs our server until the process is killed.
pub(crate) fn serve(args: &ServeArgs) -> anyhow::Result<()> {
    let address = SocketAddr::from(([127, 0, 0, 1], args.port));
    let server = Server::builder().threads(args.threads);
    let server = match args.protocol {
        Protocol::Resp => server.resp(address),
        Protocol::Http => server.http(address).policy(Policy::parse(Name::default(), [LIMIT])?),
    };
    let _server = server.start()?;
    loop {
        std::thread::park();
    }
}
