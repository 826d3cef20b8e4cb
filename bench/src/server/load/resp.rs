//! Load from `redis-benchmark`: a given number of commands.

use std::process::Command;

use crate::apt;
use crate::command::run;
use crate::server::plan::{CONNECTIONS, Plan};
use crate::server::systems::Running;

pub(super) fn send(process: &Running, plan: &Plan, pipeline: u64) -> anyhow::Result<u64> {
    let requests = plan.requests(pipeline);
    apt::ensure("redis-benchmark", "redis-tools")?;
    let mut load = Command::new("taskset");
    load.args(["-c", "1", "redis-benchmark", "-q", "-p", &process.port.to_string()]);
    load.args(["-c", &CONNECTIONS.to_string(), "-n", &requests.to_string()]);
    load.args(["-P", &pipeline.to_string(), "-r", &plan.keys.to_string()]);
    load.args(process.system.command.iter().map(|arg| match *arg {
        "KEY" => "key:__rand_int__",
        arg => arg,
    }));
    run(&mut load)?;
    Ok(requests)
}
