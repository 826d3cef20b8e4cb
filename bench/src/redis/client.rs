//! A client in a process of its own, so that its CPU time can be measured separately.
//!
//! Its arguments are the port of Redis, a file of keys, and the number of checks in flight. It prints
//! one line with its name and version. Then, for each input line `FROM COUNT`, it checks COUNT keys
//! beginning with number FROM and prints one line of JSON. It ends when its input ends.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::redis::peers;
use crate::redis::plan::IN_FLIGHT;
use crate::redis::system::{System, SystemKind};

pub(crate) struct Client {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// The measurements of a client for a number of checks.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Pass {
    pub(crate) checks: u64,
    pub(crate) allowed: u64,
    pub(crate) seconds: f64,
    /// CPU time of the whole process, in user and system mode.
    pub(crate) cpu_seconds: f64,
}

impl Client {
    /// Starts the client of a system; `None` if it is a peer that cannot be run here.
    pub(crate) fn start_for(
        system: &System,
        port: u16,
        keys: &Path,
    ) -> anyhow::Result<Option<Client>> {
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
        Client::start(&mut command)
            .with_context(|| format!("cannot start {}", system.name))
            .map(Some)
    }

    fn start(command: &mut Command) -> anyhow::Result<Client> {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = process.stdin.take().context("the client has no standard input")?;
        let output =
            BufReader::new(process.stdout.take().context("the client has no standard output")?);
        let mut client = Client { process, input, output };
        eprintln!("{}", client.line()?.trim_end());
        Ok(client)
    }

    /// Lets the client check `count` keys of the file, beginning with number `from`.
    pub(crate) fn pass(&mut self, from: usize, count: usize) -> anyhow::Result<Pass> {
        writeln!(self.input, "{from} {count}")?;
        let line = self.line()?;
        serde_json::from_str(&line)
            .with_context(|| format!("unexpected output of the client: {line:?}"))
    }

    fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        let length = self.output.read_line(&mut line)?;
        anyhow::ensure!(length > 0, "the client ended");
        Ok(line)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Errors are ignored: the client has ended, or cannot be ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
