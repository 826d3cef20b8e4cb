//! Other programs, run to their end.

use std::process::Command;

use anyhow::Context;

/// Runs it; if it fails, the error is what it said.
pub(crate) fn succeed(command: &mut Command) -> anyhow::Result<()> {
    printed(command).map(drop)
}

/// The same, and what it printed.
pub(crate) fn printed(command: &mut Command) -> anyhow::Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot run {name}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "{name}: {}", said.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
