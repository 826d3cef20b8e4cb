//! The load, on the other core.

mod http;
mod resp;

use crate::server::plan::Plan;
use crate::server::process::cpu_seconds;
use crate::server::systems::Running;

/// Returns the number of commands per second of the server's CPU time.
pub(crate) fn resp(process: &Running, plan: &Plan, pipeline: u64) -> anyhow::Result<f64> {
    per_cpu_second(process, || resp::send(process, plan, pipeline))
}

/// Returns the number of HTTP requests per second of the server's CPU time.
pub(crate) fn http(process: &Running, plan: &Plan) -> anyhow::Result<f64> {
    per_cpu_second(process, || http::send(process, plan))
}

/// `send` returns the number of requests.
fn per_cpu_second(
    process: &Running,
    send: impl FnOnce() -> anyhow::Result<u64>,
) -> anyhow::Result<f64> {
    let before = cpu_seconds(process.pid())?;
    let requests = send()?;
    Ok(requests as f64 / (cpu_seconds(process.pid())? - before))
}
