//! The server beside others: requests per second of its processor time, on one core, with the load on
//! the other.

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

use crate::args::{Protocol, Serve, ServerArgs};
use crate::report;
use crate::rounds::{self, Sample, Series};
use crate::{goals as judge, machine, progress};

use bench::Bench;
pub(crate) use bench::NAMES;
use plan::Plan;
use systems::Running;

pub(crate) fn run(args: &ServerArgs) -> anyhow::Result<()> {
    let plan = Plan::new(args.rounds()?, args.quick);
    machine::announce(args.json);
    if args.quick {
        eprintln!("--quick: few rounds and few requests; these figures are not to be quoted");
    }
    let mut rows = Vec::new();
    for bench in bench::ALL.iter().filter(|bench| args.wants(bench.name)) {
        let figures = report::rows(bench.name, bench.unit, &measure(bench, &plan)?);
        if !args.json {
            report::print_table(bench.about, &figures)?;
        }
        rows.extend(figures);
    }
    judge::conclude(&goals::ALL, &rows, args.json)
}

/// All systems of one bench, in turns. Each is started once, and knows all keys before it counts.
fn measure(bench: &Bench, plan: &Plan) -> anyhow::Result<Vec<Series>> {
    let mut running = Vec::new();
    for system in bench.systems {
        if let Some(process) = Running::start(system)? {
            running.push(process);
        }
    }
    progress::begin(bench.name);
    let samples = rounds::alternate(plan.rounds, running.len(), |place| {
        let one = &running[place];
        let value = (bench.value)(one, plan).with_context(|| one.system.name)?;
        Ok(Sample { value, allowed: None })
    })?;
    progress::end();
    let base = bench.systems.first().map_or("", |system| system.name);
    let has_base = running.iter().any(|one| one.system.name == base);
    let series = |(one, samples): (&Running, Vec<Sample>)| {
        let against = if has_base { base } else { one.system.name };
        Series::new(one.system.name, against, samples)
    };
    Ok(running.iter().zip(samples).map(series).collect())
}

/// What `/v1/check` is asked about: as much as the commands of the Redis protocol say.
const LIMIT: &str = "gcra 30/min burst 16";

/// Our server, as a process of its own, until it is killed.
pub(crate) fn serve(args: &Serve) -> anyhow::Result<()> {
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
