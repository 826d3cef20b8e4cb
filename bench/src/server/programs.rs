//! The programs that are measured, each with the arguments to listen on a port of 127.0.0.1.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::apt;
use crate::command::run;

/// Version of throttlecrab-server.
const THROTTLECRAB: &str = "0.4.40";
/// Where the package installs it, which is not in the `PATH` of every user.
const NGINX: &str = "/usr/sbin/nginx";

pub(crate) fn redis(port: u16) -> anyhow::Result<Command> {
    apt::ensure("redis-server", "redis-server")?;
    let mut command = Command::new("redis-server");
    command.args(["--bind", "127.0.0.1", "--port", &port.to_string()]);
    command.args(["--save", "", "--appendonly", "no"]);
    Ok(command)
}

pub(crate) fn ours(port: u16) -> anyhow::Result<Command> {
    ours_with("resp", port, "1")
}

pub(crate) fn ours_two_threads(port: u16) -> anyhow::Result<Command> {
    ours_with("resp", port, "2")
}

pub(crate) fn ours_http(port: u16) -> anyhow::Result<Command> {
    ours_with("http", port, "1")
}

fn ours_with(protocol: &str, port: u16, threads: &str) -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["serve", protocol, &port.to_string(), threads]);
    Ok(command)
}

/// Over the Redis protocol.
pub(crate) fn throttlecrab(port: u16) -> anyhow::Result<Command> {
    throttlecrab_with(["--redis", "--redis-host", "127.0.0.1", "--redis-port", &port.to_string()])
}

pub(crate) fn throttlecrab_http(port: u16) -> anyhow::Result<Command> {
    throttlecrab_with(["--http", "--http-host", "127.0.0.1", "--http-port", &port.to_string()])
}

/// With its `periodic` store.
fn throttlecrab_with(transport: [&str; 5]) -> anyhow::Result<Command> {
    // One try per run: a build that failed would take minutes again for every figure.
    static PROGRAM: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let program =
        PROGRAM.get_or_init(|| build_throttlecrab().map_err(|error| format!("{error:#}")));
    let mut command = Command::new(program.as_ref().map_err(|error| anyhow::anyhow!("{error}"))?);
    command.args(transport);
    command.args(["--store", "periodic", "--log-level", "error"]);
    Ok(command)
}

/// One worker, as there is one core. Its files are below `target`, so that any user can start it.
pub(crate) fn nginx(port: u16) -> anyhow::Result<Command> {
    apt::ensure(NGINX, "nginx")?;
    let root = directory("nginx");
    let config = root.join("nginx.conf");
    fs::create_dir_all(&root)?;
    fs::write(&config, include_str!("nginx.conf").replace("PORT", &port.to_string()))?;
    let mut command = Command::new(NGINX);
    command.arg("-p").arg(root).arg("-c").arg(config);
    Ok(command)
}

/// Builds the peer below `target`, unless it is there from an earlier run.
fn build_throttlecrab() -> anyhow::Result<PathBuf> {
    let root = directory("throttlecrab-server");
    let program = root.join("bin/throttlecrab-server");
    if !program.exists() {
        apt::ensure("protoc", "protobuf-compiler")?;
        eprintln!("building throttlecrab-server {THROTTLECRAB}, which takes some minutes");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["install", "--quiet", "--locked", "throttlecrab-server"]);
        cargo.args(["--version", THROTTLECRAB]);
        run(cargo.arg("--root").arg(&root))?;
    }
    Ok(program)
}

fn directory(peer: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("target/peers").join(peer)
}
