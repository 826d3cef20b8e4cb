//! Checks over one Redis, with 50 of them in flight: how many in a second, and what each takes of
//! the client and of Redis.

mod bench;
mod client;
mod goals;
mod info;
mod install;
mod ours;
mod peers;
mod plan;
mod system;
mod turn;

use anyhow::Context;
use tollgate_fixtures::Server;

use crate::args::Redis;
use crate::report;
use crate::rounds::{self, Series};
use crate::{goals as judge, keys, machine, progress};

use bench::Bench;
use client::Client;
pub(crate) use ours::serve;
use plan::Plan;
use system::System;
pub(crate) use system::{BASE, parse as parse_name};
use turn::Turn;

/// Those that can be measured, and all their turns.
struct Measured {
    systems: Vec<&'static System>,
    turns: Vec<Vec<Turn>>,
}

pub(crate) fn run(args: &Redis) -> anyhow::Result<()> {
    let plan = Plan::new(args.rounds()?, args.quick);
    machine::announce(args.json);
    if args.quick {
        eprintln!("--quick: few rounds and few keys; these figures are not to be quoted");
    }
    let measured = measure(args, &plan)?;
    let mut rows = Vec::new();
    for bench in &bench::ALL {
        let figures = report::rows(bench.name, bench.unit, &measured.series(bench));
        if !args.json {
            report::print_table(bench.about, &figures)?;
        }
        rows.extend(figures);
    }
    rows.extend(goals::figures(&rows));
    judge::conclude(&goals::ALL, &rows, args.json)
}

/// Every client is started once and lives until the end: what it learned while running, such as
/// compiled code, it keeps, as a server would.
fn measure(args: &Redis, plan: &Plan) -> anyhow::Result<Measured> {
    let server = Server::redis().context("there is no redis-server")?;
    // The server's folder goes when the server goes.
    let file = server.folder().join("keys");
    keys::write_file(&file, &keys::shuffled_twice(plan.keys))?;
    let mut clients = Vec::new();
    let mut systems = Vec::new();
    for system in system::ALL.iter().filter(|system| args.wants(system.name)) {
        if let Some(client) = Client::of(system, server.port(), &file)? {
            clients.push(client);
            systems.push(system);
        }
    }
    progress::begin("redis");
    let turns = rounds::alternate(plan.rounds, clients.len(), |place| {
        let turn = Turn::take(&mut clients[place], &server, plan);
        turn.with_context(|| systems[place].name)
    })?;
    progress::end();
    Ok(Measured { systems, turns })
}

impl Measured {
    fn series(&self, bench: &Bench) -> Vec<Series> {
        let has_base = self.systems.iter().any(|system| system.name == BASE);
        let one = |(system, turns): (&&'static System, &Vec<Turn>)| {
            let samples = turns.iter().map(|turn| turn.sample(bench.value)).collect();
            // Without the peer there is nobody to compare with.
            let against = if has_base { BASE } else { system.name };
            Series::new(system.name, against, samples)
        };
        self.systems.iter().zip(&self.turns).map(one).collect()
    }
}
