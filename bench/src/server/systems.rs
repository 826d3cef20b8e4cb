//! The systems that are measured: how each is started, and what it is sent.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::server::process;
use crate::server::programs::{
    nginx, ours, ours_http, ours_two_threads, redis, throttlecrab, throttlecrab_http,
};

/// How long a system may take until it listens.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns the command of a program that listens on a port.
type Start = fn(u16) -> anyhow::Result<Command>;

pub(crate) struct System {
    pub(crate) name: &'static str,
    start: Start,
    /// The command, or the method, target and body of the request; `KEY` stands for a random key.
    pub(crate) command: &'static [&'static str],
    /// The cores that it may use.
    cores: &'static str,
}

const THROTTLE: [&str; 5] = ["CL.THROTTLE", "KEY", "15", "30", "60"];
const CRAB_POST: [&str; 3] = [
    "POST",
    "/throttle",
    r#"{"key":"KEY","max_burst":15,"count_per_period":30,"period":60,"quantity":1}"#,
];
const OUR_POST: [&str; 3] = ["POST", "/v1/check", r#"{"policy":"default","key":"KEY"}"#];
const ONE_CORE: &str = "0";
const BOTH_CORES: &str = "0,1";

pub(crate) const REDIS_PING: System = on_one_core("redis PING", redis, &["PING"]);
pub(crate) const REDIS_INCR: System = on_one_core("redis INCR", redis, &["INCR", "KEY"]);
pub(crate) const CRAB: System =
    on_one_core("throttlecrab", throttlecrab, &["THROTTLE", "KEY", "15", "30", "60"]);
pub(crate) const OURS: System = on_one_core("tollgate", ours, &THROTTLE);
/// With states that last for hours, so that all keys are kept at the same time.
pub(crate) const LASTING_CRAB: System =
    on_one_core("throttlecrab", throttlecrab, &["THROTTLE", "KEY", "15", "1", "3600"]);
pub(crate) const LASTING: System =
    on_one_core("tollgate", ours, &["CL.THROTTLE", "KEY", "15", "1", "3600"]);
pub(crate) const HTTP_CRAB: System = on_one_core("throttlecrab", throttlecrab_http, &CRAB_POST);
/// It only allows or denies the request itself, so the smallest request is sent.
pub(crate) const NGINX: System = on_one_core("nginx limit_req", nginx, &["GET", "/?key=KEY"]);
pub(crate) const HTTP_OURS: System = on_one_core("tollgate", ours_http, &OUR_POST);
pub(crate) const ONE_THREAD: System =
    System { name: "tollgate, one thread", start: ours, command: &THROTTLE, cores: BOTH_CORES };
pub(crate) const TWO_THREADS: System = System {
    name: "tollgate, two threads",
    start: ours_two_threads,
    command: &THROTTLE,
    cores: BOTH_CORES,
};

const fn on_one_core(name: &'static str, start: Start, command: &'static [&'static str]) -> System {
    System { name, start, command, cores: ONE_CORE }
}

/// A running system.
pub(crate) struct Running {
    pub(crate) system: &'static System,
    pub(crate) port: u16,
    process: Child,
}

impl Running {
    /// Starts a system on its core; `None` if it cannot be installed.
    pub(crate) fn start(system: &'static System) -> anyhow::Result<Option<Running>> {
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let program = match (system.start)(port) {
            Ok(program) => program,
            Err(error) => {
                eprintln!("SKIPPED: {}: {error:#}", system.name);
                return Ok(None);
            }
        };
        let mut command = Command::new("taskset");
        command.args(["-c", system.cores]).arg(program.get_program()).args(program.get_args());
        command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let process = process.with_context(|| format!("cannot start {}", system.name))?;
        let running = Running { system, port, process };
        running.wait_until_listening()?;
        Ok(Some(running))
    }

    fn wait_until_listening(&self) -> anyhow::Result<()> {
        let start = Instant::now();
        while TcpStream::connect(self.address()).is_err() {
            let name = self.system.name;
            anyhow::ensure!(
                start.elapsed() < START_TIMEOUT,
                "{name} does not listen on {}",
                self.port
            );
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
    /// Kills the parent first: it would restart children that end before it.
    fn drop(&mut self) {
        let children = process::children_of(self.pid()).unwrap_or_default();
        let _ = self.process.kill();
        let _ = self.process.wait();
        children.into_iter().for_each(process::kill);
    }
}
