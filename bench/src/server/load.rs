//! Load from `redis-benchmark`, on the other core.

use std::process::Command;

use anyhow::Context;

use crate::command::succeed;
use crate::server::plan::{CONNECTIONS, Plan};
use crate::server::process::cpu_seconds;
use crate::server::systems::Running;

/// The requests that one second of the system's processor time is enough for, so many at a time.
pub(crate) fn per_cpu_second(one: &Running, plan: &Plan, pipeline: u64) -> anyhow::Result<f64> {
    let requests = plan.requests(pipeline);
    let before = cpu_seconds(one.pid())?;
    send(one, plan, pipeline, requests)?;
    Ok(requests as f64 / (cpu_seconds(one.pid())? - before))
}

fn send(one: &Running, plan: &Plan, pipeline: u64, requests: u64) -> anyhow::Result<()> {
    let mut load = Command::new("taskset");
    load.args(["-c", "1", "redis-benchmark", "-q", "-p", &one.port.to_string()]);
    load.args(["-c", &CONNECTIONS.to_string(), "-n", &requests.to_string()]);
    load.args(["-P", &pipeline.to_string(), "-r", &plan.keys.to_string()]);
    load.args(one.system.command.iter().map(|word| match *word {
        "KEY" => "key:__rand_int__",
        word => word,
    }));
    succeed(&mut load).context("redis-benchmark comes with apt-get install redis-tools")
}
