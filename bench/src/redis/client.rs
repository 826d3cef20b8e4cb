//! The client of one system, in a process of its own, so that its CPU time can be measured separately.
//!
//! Its arguments are the port of Redis, a file of keys, and the number of checks in flight. For each
//! input line `FROM COUNT` it checks COUNT keys beginning with number FROM.

use std::env;
use std::path::Path;
use std::process::Command;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::client::Client;
use crate::peers;
use crate::redis::plan::IN_FLIGHT;
use crate::redis::system::{System, SystemKind};

/// The measurements of a client for a number of checks.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Pass {
    pub(crate) checks: u64,
    pub(crate) allowed: u64,
    pub(crate) seconds: f64,
    /// CPU time of the whole process, in user and system mode.
    pub(crate) cpu_seconds: f64,
}

/// Starts the client of a system; `None` if it is a peer that cannot be run here.
pub(crate) fn start_for(system: &System, port: u16, keys: &Path) -> anyhow::Result<Option<Client>> {
    let command = match &system.kind {
        SystemKind::Ours { .. } => {
            let mut command = Command::new(env::current_exe()?);
            command.arg("redis-client");
            Some(command)
        }
        SystemKind::Peer { peer, .. } => peers::command_of(peer)?,
    };
    let Some(mut command) = command else { return Ok(None) };
    command.arg(port.to_string()).arg(keys).arg(IN_FLIGHT.to_string());
    command.args(match system.kind {
        SystemKind::Ours { .. } => Some(system.name),
        SystemKind::Peer { strategy, .. } => strategy,
    });
    let client = Client::start(&mut command);
    let client = client.with_context(|| format!("cannot start {}", system.name))?;
    eprintln!("{}", client.version);
    Ok(Some(client))
}

/// Lets the client check `count` keys of the file, beginning with number `from`.
pub(crate) fn pass(client: &mut Client, from: usize, count: usize) -> anyhow::Result<Pass> {
    client.send(&format!("{from} {count}"))?;
    client.answer()
}
