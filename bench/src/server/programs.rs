//! The programs that are measured, each with what makes it listen on a port.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::command::succeed;

/// The version of the peer.
const THROTTLECRAB: &str = "0.4.40";
/// Where its packages put it, which is not in everybody's `PATH`.
const NGINX: &str = "/usr/sbin/nginx";

pub(crate) fn redis(port: u16) -> anyhow::Result<Command> {
    succeed(Command::new("redis-server").arg("--version"))
        .context("apt-get install redis-server")?;
    let mut command = Command::new("redis-server");
    command.args(["--port", &port.to_string(), "--save", "", "--appendonly", "no"]);
    Ok(command)
}

pub(crate) fn ours(port: u16) -> anyhow::Result<Command> {
    ours_with("resp", port, "1")
}

pub(crate) fn ours_twice(port: u16) -> anyhow::Result<Command> {
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
    let mut command = Command::new(install()?);
    command.args(transport);
    command.args(["--store", "periodic", "--log-level", "error"]);
    Ok(command)
}

/// One worker, as there is one core. What it needs is below `target`, so that anybody may start it.
pub(crate) fn nginx(port: u16) -> anyhow::Result<Command> {
    succeed(Command::new(NGINX).arg("-v")).context("apt-get install nginx")?;
    let root = folder("nginx");
    let settings = root.join("nginx.conf");
    fs::create_dir_all(&root)?;
    fs::write(&settings, include_str!("nginx.conf").replace("PORT", &port.to_string()))?;
    let mut command = Command::new(NGINX);
    command.arg("-p").arg(root).arg("-c").arg(settings);
    Ok(command)
}

/// Builds the peer below `target`, once.
fn install() -> anyhow::Result<PathBuf> {
    let root = folder("throttlecrab-server");
    let program = root.join("bin/throttlecrab-server");
    if !program.exists() {
        eprintln!("building throttlecrab-server {THROTTLECRAB}, which takes some minutes");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["install", "--quiet", "--locked", "throttlecrab-server"]);
        cargo.args(["--version", THROTTLECRAB]);
        succeed(cargo.arg("--root").arg(&root)).context("it needs protobuf-compiler")?;
    }
    Ok(program)
}

fn folder(peer: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("target/peers").join(peer)
}
