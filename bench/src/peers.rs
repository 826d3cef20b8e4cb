//! Peers in other languages, each a small program in `peers/`.

mod install;
mod peer;

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use peer::File;
pub(crate) use peer::Peer;

/// npm's `rate-limiter-flexible`, checking a list of keys.
pub(crate) static FLEXIBLE: Peer = flexible(File {
    name: "client.mjs",
    text: include_str!("../peers/rate-limiter-flexible/client.mjs"),
});

/// npm's `rate-limiter-flexible`, as one of several nodes.
pub(crate) static FLEXIBLE_NODE: Peer = flexible(File {
    name: "node.mjs",
    text: include_str!("../peers/rate-limiter-flexible/node.mjs"),
});

const fn flexible(program: File) -> Peer {
    Peer {
        name: "rate-limiter-flexible",
        language: "node",
        manifest: File {
            name: "package.json",
            text: include_str!("../peers/rate-limiter-flexible/package.json"),
        },
        program,
        installer: npm,
        runner: |program| command("node", [program]),
    }
}

/// PyPI's `limits`.
pub(crate) static LIMITS: Peer = Peer {
    name: "limits",
    language: "python3",
    manifest: File {
        name: "requirements.txt",
        text: include_str!("../peers/limits/requirements.txt"),
    },
    program: File { name: "client.py", text: include_str!("../peers/limits/client.py") },
    installer: pip,
    runner: |program| {
        let mut command = command("python3", [program]);
        command.env("PYTHONPATH", packages(program.parent().unwrap_or(program)));
        command
    },
};

/// Installs a peer and returns its command; `None` after printing why it cannot be run.
pub(crate) fn command_of(peer: &Peer) -> anyhow::Result<Option<Command>> {
    Ok(install(peer)?.map(|program| (peer.runner)(&program)))
}

/// Installs a peer and returns its program; `None` after printing why it cannot be run.
pub(crate) fn install(peer: &Peer) -> anyhow::Result<Option<PathBuf>> {
    match install::install(peer) {
        Ok(program) => Ok(Some(program)),
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
