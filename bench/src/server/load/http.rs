//! Load from `wrk`: as many requests as there is time for.

use std::process::Command;

use anyhow::Context;
use serde::Deserialize;

use crate::command::printed;
use crate::server::plan::{CONNECTIONS, HTTP_KEYS, Plan};
use crate::server::systems::Running;

/// What `wrk` asks for each request, and in the end.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/server/load/wrk.lua");

/// What the script says of a turn.
#[derive(Deserialize)]
struct Turn {
    requests: u64,
    /// Answers with a status of 400 or above. Nobody is denied, as no key is asked for often.
    refused: u64,
    /// Connections that failed, or took too long.
    broken: u64,
}

/// Returns how many requests were answered, if all were.
pub(super) fn send(one: &Running, plan: &Plan) -> anyhow::Result<u64> {
    let mut load = Command::new("taskset");
    load.args(["-c", "1", "wrk", "-t", "1", "-c", &CONNECTIONS.to_string()]);
    load.args(["-d", &plan.seconds.to_string(), "-s", SCRIPT]);
    load.arg(format!("http://{}", one.address()));
    load.arg("--").arg(HTTP_KEYS.to_string()).args(one.system.command);
    let said = printed(&mut load).context("wrk comes with apt-get install wrk")?;
    answered(&said)
}

/// All else that `wrk` prints is for people.
fn answered(said: &str) -> anyhow::Result<u64> {
    let line = said.lines().find(|line| line.starts_with('{'));
    let line = line.with_context(|| format!("wrk ended early: {}", said.trim()))?;
    let turn = serde_json::from_str(line).with_context(|| format!("wrk.lua said {line}"))?;
    let Turn { requests, refused, broken } = turn;
    anyhow::ensure!(
        refused == 0 && broken == 0,
        "of {requests} requests {refused} got a status of 400 or above; {broken} connections failed"
    );
    Ok(requests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_requests_count_if_all_were_answered() {
        let said = |line| answered(&format!("  1 threads and 50 connections\n{line}\n"));
        let good = said(r#"{"requests":139969,"refused":0,"broken":0}"#);
        assert_eq!(good.unwrap(), 139_969);
        for bad in [
            r#"{"requests":139969,"refused":1,"broken":0}"#,
            r#"{"requests":139969,"refused":0,"broken":1}"#,
            r#"{"requests":139969}"#,
            "Requests/sec:  69447.79",
        ] {
            assert!(said(bad).is_err(), "{bad}");
        }
    }
}
