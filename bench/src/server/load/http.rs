//! Load from `wrk`: as many requests as possible in a given time.

use std::process::Command;

use anyhow::Context;
use serde::Deserialize;

use crate::apt;
use crate::command::output;
use crate::server::plan::{CONNECTIONS, HTTP_KEYS, Plan};
use crate::server::systems::Running;

/// The script of `wrk`: makes the requests and prints a summary.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/server/load/wrk.lua");

/// The summary of the script.
#[derive(Deserialize)]
struct Summary {
    requests: u64,
    /// Responses with a status of 400 or above. None is denied, as no key is checked often.
    errors: u64,
    /// Connections that failed or timed out.
    failed: u64,
}

/// Returns the number of requests. Fails if any of them failed.
pub(super) fn send(process: &Running, plan: &Plan) -> anyhow::Result<u64> {
    apt::ensure("wrk", "wrk")?;
    let mut load = Command::new("taskset");
    load.args(["-c", "1", "wrk", "-t", "1", "-c", &CONNECTIONS.to_string()]);
    load.args(["-d", &plan.seconds.to_string(), "-s", SCRIPT]);
    load.arg(format!("http://{}", process.address()));
    load.arg("--").arg(HTTP_KEYS.to_string()).args(process.system.command);
    requests_of(&output(&mut load)?)
}

/// Finds the summary in the output of `wrk`.
fn requests_of(output: &str) -> anyhow::Result<u64> {
    let line = output.lines().find(|line| line.starts_with('{'));
    let line = line.with_context(|| format!("wrk ended early: {}", output.trim()))?;
    let summary = serde_json::from_str(line);
    let summary = summary.with_context(|| format!("unexpected output of wrk.lua: {line}"))?;
    let Summary { requests, errors, failed } = summary;
    anyhow::ensure!(
        errors == 0 && failed == 0,
        "of {requests} requests {errors} got a status of 400 or above; {failed} connections failed"
    );
    Ok(requests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_count_only_if_all_succeeded() {
        let parse = |line| requests_of(&format!("  1 threads and 50 connections\n{line}\n"));
        let good = parse(r#"{"requests":139969,"errors":0,"failed":0}"#);
        assert_eq!(good.unwrap(), 139_969);
        for bad in [
            r#"{"requests":139969,"errors":1,"failed":0}"#,
            r#"{"requests":139969,"errors":0,"failed":1}"#,
            r#"{"requests":139969}"#,
            "Requests/sec:  69447.79",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
