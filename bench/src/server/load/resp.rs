//! Load from `redis-benchmark`: so many commands.

use std::process::Command;

use anyhow::Context;

use crate::command::succeed;
use crate::server::plan::{CONNECTIONS, Plan};
use crate::server::systems::Running;

pub(super) fn send(one: &Running, plan: &Plan, pipeline: u64) -> anyhow::Result<u64> {
    let requests = plan.requests(pipeline);
    let mut load = Command::new("taskset");
    load.args(["-c", "1", "redis-benchmark", "-q", "-p", &one.port.to_string()]);
    load.args(["-c", &CONNECTIONS.to_string(), "-n", &requests.to_string()]);
    load.args(["-P", &pipeline.to_string(), "-r", &plan.keys.to_string()]);
    load.args(one.system.command.iter().map(|word| match *word {
        "KEY" => "key:__rand_int__",
        word => word,
    }));
    succeed(&mut load).context("redis-benchmark comes with apt-get install redis-tools")?;
    Ok(requests)
}
