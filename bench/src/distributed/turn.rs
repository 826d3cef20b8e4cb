//! One turn of one system: new nodes, which warm up and then check together.

use std::time::Duration;

use tollgate_fixtures::{Fault, FaultProxy, Server};

use crate::client::Client;
use crate::distributed::calls;
use crate::distributed::clock;
use crate::distributed::judge;
use crate::distributed::key_files::KeyFiles;
use crate::distributed::launch::Launcher;
use crate::distributed::pass::Pass;
use crate::distributed::plan::Plan;
use crate::distributed::shape::{Pace, Shape, StoreSpeed};
use crate::distributed::system::System;
use crate::rounds::Sample;

/// How long nodes have to read their keys before they start together.
const PREPARATION: Duration = Duration::from_millis(250);
/// Each way, so that a reply is 500 ms late.
const SLOWNESS: Duration = Duration::from_millis(250);

pub(crate) struct Turn {
    passes: Vec<Pass>,
    calls: u64,
}

/// Where a turn takes place.
pub(crate) struct Stage<'s> {
    pub(crate) server: &'s Server,
    pub(crate) files: &'s KeyFiles,
    pub(crate) launcher: &'s Launcher,
    pub(crate) plan: &'s Plan,
}

impl Turn {
    pub(crate) fn take(stage: &Stage<'_>, shape: &Shape, system: System) -> anyhow::Result<Turn> {
        let Stage { server, files, launcher, plan } = stage;
        let reply = server.cli(&["flushall", "sync"]);
        anyhow::ensure!(reply == "OK", "FLUSHALL: {reply}");
        let proxy = (shape.store == StoreSpeed::Slow).then(|| FaultProxy::start(server.port()));
        let port = proxy.as_ref().map_or(server.port(), FaultProxy::port);
        let nodes = (0..shape.nodes).map(|_| launcher.start(system, shape, port));
        let mut nodes: Vec<Client> = nodes.collect::<anyhow::Result<_>>()?;
        pass(&mut nodes, |node| line(shape, plan.warm_up, &files.warm_up(shape, node)))?;
        if let Some(proxy) = &proxy {
            proxy.set(Fault::Latency(SLOWNESS));
        }
        let before = calls::count(server);
        let seconds = plan.seconds(shape);
        let passes = pass(&mut nodes, |node| line(shape, seconds, &files.keys(shape, node)))?;
        Ok(Turn { passes, calls: calls::count(server) - before })
    }

    pub(crate) fn sample(&self, value: fn(&Turn) -> f64) -> Sample {
        Sample { value: value(self), allowed: Some(self.allowed() / self.checks()) }
    }

    pub(crate) fn checks_per_second(&self) -> f64 {
        self.sum(|pass| pass.checks as f64 / pass.seconds)
    }

    pub(crate) fn calls_per_check(&self) -> f64 {
        self.calls as f64 / self.checks()
    }

    pub(crate) fn allowed(&self) -> f64 {
        self.sum(|pass| pass.allowed as f64)
    }

    pub(crate) fn allowed_per_second(&self) -> f64 {
        self.sum(|pass| pass.allowed as f64 / pass.seconds)
    }

    pub(crate) fn most_in_a_second(&self) -> f64 {
        let admissions = self.passes.iter().flat_map(|pass| pass.admissions.iter().copied());
        judge::most_in_a_second(admissions.collect()) as f64
    }

    /// Returns the figure of the node whose figure is highest.
    pub(crate) fn slowest(&self, of: fn(&Pass) -> f64) -> f64 {
        self.passes.iter().map(of).fold(0.0, f64::max)
    }

    fn checks(&self) -> f64 {
        self.sum(|pass| pass.checks as f64)
    }

    fn sum(&self, of: impl Fn(&Pass) -> f64) -> f64 {
        self.passes.iter().map(of).sum()
    }
}

/// Lets all nodes check at the same time, each as its line says.
fn pass(nodes: &mut [Client], line: impl Fn(usize) -> String) -> anyhow::Result<Vec<Pass>> {
    let start = clock::nanos(clock::now() + PREPARATION);
    for (index, node) in nodes.iter_mut().enumerate() {
        node.send(&format!("{start} {}", line(index)))?;
    }
    nodes.iter_mut().map(Client::answer).collect()
}

/// Returns the line for a node: for how long, how many checks per second, and which keys.
fn line(shape: &Shape, seconds: f64, keys: &str) -> String {
    let rate = match shape.pace {
        Pace::FullSpeed => 0,
        Pace::PerSecond(rate) => rate,
    };
    format!("{seconds} {rate} {keys}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_the_sum_of_its_nodes() {
        let pass = |allowed, p99| Pass {
            checks: 1000,
            allowed,
            seconds: 0.5,
            p99,
            admissions: vec![[1, 2]],
            ..Pass::default()
        };
        let turn = Turn { passes: vec![pass(100, 7.0), pass(200, 9.0)], calls: 20 };
        assert_eq!((turn.checks_per_second(), turn.calls_per_check()), (4000.0, 0.01));
        assert_eq!((turn.allowed(), turn.allowed_per_second()), (300.0, 600.0));
        assert_eq!((turn.most_in_a_second(), turn.slowest(|pass| pass.p99)), (2.0, 9.0));
        assert_eq!(turn.sample(Turn::allowed).allowed, Some(0.15));
    }
}
