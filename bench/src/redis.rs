//! Checks over one Redis with 50 in flight: checks per second, and the CPU time of the client and of
//! Redis.

mod args;
mod bench;
mod client;
mod goals;
mod info;
mod ours;
mod plan;
mod system;
mod turn;

use anyhow::Context;
use tollgate_fixtures::Server;

use crate::goals::print_goals;
use crate::rounds::{self, Series};
use crate::{keys, machine, progress, report};

pub(crate) use args::{RedisArgs, RedisClientArgs};
use bench::Bench;
pub(crate) use ours::run_client;
use plan::Plan;
use system::{BASE, System};
use turn::Turn;

/// The systems that could be measured, and all their turns.
struct Measured {
    systems: Vec<&'static System>,
    turns: Vec<Vec<Turn>>,
}

pub(crate) fn run(args: &RedisArgs) -> anyhow::Result<()> {
    let options = &args.options;
    let plan = Plan::new(args.rounds()?, options.quick);
    machine::print(options.json);
    options.warn_if_quick();
    let measured = measure(args, &plan)?;
    let mut rows = Vec::new();
    for bench in &bench::ALL {
        let figures = report::rows(bench.name, bench.unit, &measured.series(bench));
        report::print(bench.name, bench.about, &figures, options.json)?;
        rows.extend(figures);
    }
    let goal_rows = goals::figures(&rows);
    if options.json {
        report::print_json(&goal_rows)?;
    }
    rows.extend(goal_rows);
    print_goals(&goals::ALL, &rows, options.json)
}

/// Every client is started once and runs until the end: it keeps what it has warmed up, such as
/// compiled code, as a server would.
fn measure(args: &RedisArgs, plan: &Plan) -> anyhow::Result<Measured> {
    let server = Server::redis().context("redis-server is missing")?;
    // The directory of the server is deleted with it.
    let file = server.folder().join("keys");
    keys::write_file(&file, &keys::shuffled_twice(plan.keys))?;
    let mut clients = Vec::new();
    let mut systems = Vec::new();
    for system in system::ALL.iter().filter(|system| args.includes(system.name)) {
        if let Some(client) = client::start_for(system, server.port(), &file)? {
            clients.push(client);
            systems.push(system);
        }
    }
    progress::begin("redis");
    let turns = rounds::alternate(plan.rounds, clients.len(), |index| {
        let turn = Turn::take(&mut clients[index], &server, plan);
        turn.with_context(|| systems[index].name)
    })?;
    progress::end();
    Ok(Measured { systems, turns })
}

impl Measured {
    fn series(&self, bench: &Bench) -> Vec<Series> {
        let has_base = self.systems.iter().any(|system| system.name == BASE);
        let one = |(system, turns): (&&'static System, &Vec<Turn>)| {
            let samples = turns.iter().map(|turn| turn.sample(bench.value)).collect();
            // Without the peer there is nothing to compare with.
            let against = if has_base { BASE } else { system.name };
            Series::new(system.name, against, samples)
        };
        self.systems.iter().zip(&self.turns).map(one).collect()
    }
}
