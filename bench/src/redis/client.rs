//! A client in a process of its own, so that its processor time is nobody else's.
//!
//! It is started with the port of Redis, a file of keys, and how many checks are to be in flight. It
//! says what it is in one line. Then it is told `FROM COUNT`, checks so many keys from there on, and
//! answers with one line of JSON, as often as it is asked; it ends when its input ends.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::redis::peers;
use crate::redis::plan::IN_FLIGHT;
use crate::redis::system::{Kind, System};

pub(crate) struct Client {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// What a client says of the checks it made.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Pass {
    pub(crate) checks: u64,
    pub(crate) allowed: u64,
    pub(crate) seconds: f64,
    /// Of the whole process, in user and system mode.
    pub(crate) cpu_seconds: f64,
}

impl Client {
    /// The client of a system; `None` if that is a peer which cannot be run here.
    pub(crate) fn of(system: &System, port: u16, keys: &Path) -> anyhow::Result<Option<Client>> {
        let command = match &system.kind {
            Kind::Ours { .. } => {
                let mut command = Command::new(env::current_exe()?);
                command.arg("redis-client");
                Some(command)
            }
            Kind::Peer { peer, .. } => peers::command_of(peer)?,
        };
        let Some(mut command) = command else { return Ok(None) };
        command.arg(port.to_string()).arg(keys).arg(IN_FLIGHT.to_string());
        command.args(match system.kind {
            Kind::Ours { .. } => Some(system.name),
            Kind::Peer { strategy, .. } => strategy,
        });
        Client::start(&mut command).with_context(|| format!("starting {}", system.name)).map(Some)
    }

    fn start(command: &mut Command) -> anyhow::Result<Client> {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = process.stdin.take().context("it has no input")?;
        let output = BufReader::new(process.stdout.take().context("it has no output")?);
        let mut client = Client { process, input, output };
        eprintln!("{}", client.line()?.trim_end());
        Ok(client)
    }

    /// Has it check so many keys of the file from this one on.
    pub(crate) fn pass(&mut self, from: usize, count: usize) -> anyhow::Result<Pass> {
        writeln!(self.input, "{from} {count}")?;
        let line = self.line()?;
        serde_json::from_str(&line).with_context(|| format!("the client said {line:?}"))
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
        // It is gone, or will be: nothing else can be done about it here.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
