//! Who is measured, and how each is started and asked.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::command::succeed;

/// The version of the peer.
const THROTTLECRAB: &str = "0.4.40";
/// How long one may take to listen.
const STARTING: Duration = Duration::from_secs(10);

/// The program that listens on a port.
type Start = fn(u16) -> anyhow::Result<Command>;

pub(crate) struct System {
    pub(crate) name: &'static str,
    start: Start,
    /// The command that is sent; `KEY` stands for a key chosen at random.
    pub(crate) command: &'static [&'static str],
    /// Which cores it may use.
    cores: &'static str,
}

const THROTTLE: [&str; 5] = ["CL.THROTTLE", "KEY", "15", "30", "60"];
const ONE_CORE: &str = "0";
const BOTH_CORES: &str = "0,1";

pub(crate) const REDIS_PING: System = on_one_core("redis PING", redis, &["PING"]);
pub(crate) const REDIS_INCR: System = on_one_core("redis INCR", redis, &["INCR", "KEY"]);
pub(crate) const CRAB: System =
    on_one_core("throttlecrab", throttlecrab, &["THROTTLE", "KEY", "15", "30", "60"]);
pub(crate) const OURS: System = on_one_core("tollgate", ours, &THROTTLE);
/// The same with states that last for an hour, so that all keys are there at once.
pub(crate) const LASTING_CRAB: System =
    on_one_core("throttlecrab", throttlecrab, &["THROTTLE", "KEY", "15", "1", "3600"]);
pub(crate) const LASTING: System =
    on_one_core("tollgate", ours, &["CL.THROTTLE", "KEY", "15", "1", "3600"]);
pub(crate) const ONE_LOOP: System =
    System { name: "tollgate, one loop", start: ours, command: &THROTTLE, cores: BOTH_CORES };
pub(crate) const TWO_LOOPS: System = System {
    name: "tollgate, two loops",
    start: ours_twice,
    command: &THROTTLE,
    cores: BOTH_CORES,
};

const fn on_one_core(name: &'static str, start: Start, command: &'static [&'static str]) -> System {
    System { name, start, command, cores: ONE_CORE }
}

/// A system that listens.
pub(crate) struct Running {
    pub(crate) system: &'static System,
    pub(crate) port: u16,
    process: Child,
}

impl Running {
    /// Starts it on its core; `None` if it cannot be had here.
    pub(crate) fn start(system: &'static System) -> anyhow::Result<Option<Running>> {
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let program = match (system.start)(port) {
            Ok(program) => program,
            Err(error) => {
                eprintln!("{} is left out: {error:#}", system.name);
                return Ok(None);
            }
        };
        let mut command = Command::new("taskset");
        command.args(["-c", system.cores]).arg(program.get_program()).args(program.get_args());
        command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let process = process.with_context(|| format!("cannot start {}", system.name))?;
        let running = Running { system, port, process };
        running.wait()?;
        Ok(Some(running))
    }

    fn wait(&self) -> anyhow::Result<()> {
        let begin = Instant::now();
        while TcpStream::connect(self.address()).is_err() {
            let name = self.system.name;
            anyhow::ensure!(begin.elapsed() < STARTING, "{name} does not listen on {}", self.port);
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn redis(port: u16) -> anyhow::Result<Command> {
    succeed(Command::new("redis-server").arg("--version"))
        .context("apt-get install redis-server")?;
    let mut command = Command::new("redis-server");
    command.args(["--port", &port.to_string(), "--save", "", "--appendonly", "no"]);
    Ok(command)
}

fn ours(port: u16) -> anyhow::Result<Command> {
    ours_with(port, "1")
}

fn ours_twice(port: u16) -> anyhow::Result<Command> {
    ours_with(port, "2")
}

fn ours_with(port: u16, loops: &str) -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["serve", &port.to_string(), loops]);
    Ok(command)
}

/// With its `periodic` store, over the Redis protocol.
fn throttlecrab(port: u16) -> anyhow::Result<Command> {
    let mut command = Command::new(install()?);
    command.args(["--redis", "--redis-host", "127.0.0.1", "--redis-port", &port.to_string()]);
    command.args(["--store", "periodic", "--log-level", "error"]);
    Ok(command)
}

/// Builds the peer below `target`, once.
fn install() -> anyhow::Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/peers/throttlecrab-server");
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
