//! The peers, each a small program of its own language in `peers/`.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::redis::install;

pub(crate) struct Peer {
    pub(crate) name: &'static str,
    /// The program that runs programs in its language.
    pub(crate) language: &'static str,
    /// What its packages are, in the form its installer reads.
    pub(crate) manifest: File,
    pub(crate) program: File,
    /// Installs the packages of the manifest into this folder.
    pub(crate) installer: fn(&Path) -> Command,
    /// Runs the program of this folder.
    runner: fn(&Path) -> Command,
}

pub(crate) struct File {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
}

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
    runner: |folder| command("node", [&folder.join("client.mjs")]),
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
    runner: |folder| {
        let mut command = command("python3", [&folder.join("client.py")]);
        command.env("PYTHONPATH", packages(folder));
        command
    },
};

/// The program of a peer, installed; `None` after saying why there is none.
pub(crate) fn command_of(peer: &Peer) -> anyhow::Result<Option<Command>> {
    match install::install(peer) {
        Ok(folder) => Ok(Some((peer.runner)(&folder))),
        Err(error) => {
            let message = format!("SKIPPED: {}: {error:#}", peer.name);
            // There, a row that is missing would never be missed.
            anyhow::ensure!(env::var("CI").as_deref() != Ok("true"), message);
            eprintln!("{message}");
            Ok(None)
        }
    }
}

fn npm(folder: &Path) -> Command {
    let mut command = command("npm", ["install", "--no-package-lock", "--no-audit", "--no-fund"]);
    command.arg("--prefix").arg(folder);
    command
}

fn pip(folder: &Path) -> Command {
    let mut command = command("python3", ["-m", "pip", "install", "--disable-pip-version-check"]);
    command.arg("--target").arg(packages(folder));
    command.arg("--requirement").arg(folder.join("requirements.txt"));
    command
}

fn packages(folder: &Path) -> PathBuf {
    folder.join("packages")
}

fn command(program: &str, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new(program);
    command.args(args);
    command
}
