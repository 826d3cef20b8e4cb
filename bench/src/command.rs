//! Runs other programs to their end.

use std::process::Command;

use anyhow::Context;

/// Runs a program. Fails with its standard error if it fails.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    output(command).map(drop)
}

/// Runs a program and returns its standard output. Fails with its standard error if it fails.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot run {name}"))?;
    let error = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "{name}: {}", error.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
