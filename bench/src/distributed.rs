//! Several nodes on one store, 256 callers each: checks per second, latencies, calls of the store, and how
//! exactly the limit is kept.
//!
//! The store is Valkey, since trypema requires a newer Redis than distributions have.

mod args;
mod calls;
mod clock;
mod figure;
mod goals;
mod judge;
mod key_files;
mod launch;
mod node;
mod pass;
mod plan;
mod shape;
mod system;
mod turn;

use anyhow::Context;
use tollgate_fixtures::Server;

use crate::goals::print_goals;
use crate::report::Row;
use crate::rounds::{self, Series};
use crate::{machine, progress, report};

pub(crate) use args::{DistributedArgs, DistributedNodeArgs};
use figure::Figure;
use key_files::KeyFiles;
use launch::Launcher;
pub(crate) use node::run_node;
use plan::Plan;
use shape::Shape;
use system::System;
use turn::{Stage, Turn};

pub(crate) fn run(args: &DistributedArgs) -> anyhow::Result<()> {
    let options = &args.options;
    let plan = Plan::new(args.rounds()?, options.quick);
    machine::print(options.json);
    options.warn_if_quick();
    let server = Server::valkey().context("valkey-server is missing: run scripts/valkey")?;
    // The directory of the server is deleted with it.
    let files = KeyFiles::create(server.folder(), plan.draws)?;
    let launcher = Launcher::install()?;
    let stage = Stage { server: &server, files: &files, launcher: &launcher, plan: &plan };
    let mut rows = Vec::new();
    for shape in shape::ALL.iter().filter(|shape| args.includes(shape)) {
        let measured = Measured::measure(&stage, shape, args)?;
        for figure in shape.figures {
            rows.extend(measured.print(figure, options.json)?);
        }
    }
    print_goals(&goals::all(), &rows, options.json)
}

/// The turns of the systems that could be measured.
struct Measured<'s> {
    shape: &'s Shape,
    systems: Vec<System>,
    turns: Vec<Vec<Turn>>,
}

impl<'s> Measured<'s> {
    fn measure(
        stage: &Stage<'_>,
        shape: &'s Shape,
        args: &DistributedArgs,
    ) -> anyhow::Result<Measured<'s>> {
        let mut systems = shape.systems.to_vec();
        systems.retain(|system| {
            args.includes_system(shape, *system) && stage.launcher.can_start(*system)
        });
        progress::begin(shape.name);
        let turns = rounds::alternate(stage.plan.rounds, systems.len(), |index| {
            let system = systems[index];
            Turn::take(stage, shape, system).with_context(|| shape.bench(system))
        })?;
        progress::end();
        Ok(Measured { shape, systems, turns })
    }

    /// Prints a figure of all systems. Returns it with all comparisons, of which a table has only the first.
    fn print(&self, figure: &Figure, json: bool) -> anyhow::Result<Vec<Row>> {
        let mut bases = self.shape.bases.iter().filter(|base| self.systems.contains(base));
        let first = bases.next().filter(|_| figure.is_compared);
        let mut rows = self.rows(figure, first.copied());
        let name = format!("{}{}", self.shape.name, figure.suffix);
        report::print(&name, &format!("{}; {}", self.shape.about, figure.about), &rows, json)?;
        for base in bases.filter(|_| figure.is_compared) {
            let mut more = self.rows(figure, Some(*base));
            more.retain(|row| row.system != row.against);
            if json {
                report::print_json(&more)?;
            }
            rows.extend(more);
        }
        Ok(rows)
    }

    /// Returns a figure of all systems, compared with one of them.
    fn rows(&self, figure: &Figure, base: Option<System>) -> Vec<Row> {
        let one = |(system, turns): (&System, &Vec<Turn>)| {
            let samples = turns.iter().map(|turn| turn.sample(figure.value)).collect();
            Series::new(system.name(), base.unwrap_or(*system).name(), samples)
        };
        let series: Vec<Series> = self.systems.iter().zip(&self.turns).map(one).collect();
        let mut rows = report::rows("", figure.unit, &series);
        for (row, system) in rows.iter_mut().zip(&self.systems) {
            row.bench = self.shape.bench(*system) + figure.suffix;
        }
        rows
    }
}
