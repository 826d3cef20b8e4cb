//! Load, on the other core.

mod http;
mod resp;

use crate::server::plan::Plan;
use crate::server::process::cpu_seconds;
use crate::server::systems::Running;

/// The commands that one second of the system's processor time is enough for, so many at a time.
pub(crate) fn resp(one: &Running, plan: &Plan, pipeline: u64) -> anyhow::Result<f64> {
    per_cpu_second(one, || resp::send(one, plan, pipeline))
}

/// The same for requests over HTTP, one at a time.
pub(crate) fn http(one: &Running, plan: &Plan) -> anyhow::Result<f64> {
    per_cpu_second(one, || http::send(one, plan))
}

/// `send` says how many requests it sent.
fn per_cpu_second(
    one: &Running,
    send: impl FnOnce() -> anyhow::Result<u64>,
) -> anyhow::Result<f64> {
    let before = cpu_seconds(one.pid())?;
    let requests = send()?;
    Ok(requests as f64 / (cpu_seconds(one.pid())? - before))
}
