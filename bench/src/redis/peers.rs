//! The peers, each a small program in its own language in `peers/`.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::redis::install;
use crate::redis::peer::{File, Peer};

/// npm's `rate-limiter-flexible`.
pub(crate) static FLEXIBLE: Peer = Peer {
    name: "rate-limiter-flexible",
    language: "node",
    manifest: File {
        name: "package.json",
        text: include_str!("../../peers/rate-limiter-flexible/package.json"),
    },
    program: File {
        name: "client.mjs",
        text: include_str!("../../peers/rate-limiter-flexible/client.mjs"),
    },
    installer: npm,
    runner: |directory| command("node", [&directory.join("client.mjs")]),
};

/// PyPI's `limits`.
pub(crate) static LIMITS: Peer = Peer {
    name: "limits",
    language: "python3",
    manifest: File {
        name: "requirements.txt",
        text: include_str!("../../peers/limits/requirements.txt"),
    },
    program: File { name: "client.py", text: include_str!("../../peers/limits/client.py") },
    installer: pip,
    runner: |directory| {
        let mut command = command("python3", [&directory.join("client.py")]);
        command.env("PYTHONPATH", packages(directory));
        command
    },
};

/// Installs a peer and returns its command; `None` after printing why it cannot be run.
pub(crate) fn command_of(peer: &Peer) -> anyhow::Result<Option<Command>> {
    match install::install(peer) {
        Ok(directory) => Ok(Some((peer.runner)(&directory))),
        Err(error) => {
            let message = format!("SKIPPED: {}: {error:#}", peer.name);
            // In CI a missing row would go unnoticed.
            anyhow::ensure!(env::var("CI").as_deref() != Ok("true"), message);
            eprintln!("{message}");
            Ok(None)
        }
    }
}

fn npm(directory: &Path) -> Command {
    let mut command = command("npm", ["install", "--no-package-lock", "--no-audit", "--no-fund"]);
    command.arg("--prefix").arg(directory);
    command
}

fn pip(directory: &Path) -> Command {
    let mut command = command("python3", ["-m", "pip", "install", "--disable-pip-version-check"]);
    command.arg("--target").arg(packages(directory));
    command.arg("--requirement").arg(directory.join("requirements.txt"));
    command
}

fn packages(directory: &Path) -> PathBuf {
    directory.join("packages")
}

fn command(program: &str, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new(program);
    command.args(args);
    command
}
