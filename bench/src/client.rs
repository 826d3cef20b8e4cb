//! A client in a process of its own. It prints one line with its name and version. Then it answers each
//! line of its input with one line of JSON. It ends when its input ends.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::Context;
use serde::de::DeserializeOwned;

pub(crate) struct Client {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// Its name and version.
    pub(crate) version: String,
}

impl Client {
    pub(crate) fn start(command: &mut Command) -> anyhow::Result<Client> {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = process.stdin.take().context("the client has no standard input")?;
        let output =
            BufReader::new(process.stdout.take().context("the client has no standard output")?);
        let mut client = Client { process, input, output, version: String::new() };
        client.version = client.line()?.trim_end().to_owned();
        Ok(client)
    }

    pub(crate) fn send(&mut self, line: &str) -> anyhow::Result<()> {
        Ok(writeln!(self.input, "{line}")?)
    }

    /// Waits for the answer to the line that was sent.
    pub(crate) fn answer<T: DeserializeOwned>(&mut self) -> anyhow::Result<T> {
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
