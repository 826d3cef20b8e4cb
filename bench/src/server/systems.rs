//! Who is measured, and how each is started and asked.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::server::process;
use crate::server::programs::{
    nginx, ours, ours_http, ours_twice, redis, throttlecrab, throttlecrab_http,
};

/// How long one may take to listen.
const STARTING: Duration = Duration::from_secs(10);

/// The program that listens on a port.
type Start = fn(u16) -> anyhow::Result<Command>;

pub(crate) struct System {
    pub(crate) name: &'static str,
    start: Start,
    /// The command that is sent, or the method, target and body of the request; `KEY` stands for a
    /// key chosen at random.
    pub(crate) command: &'static [&'static str],
    /// Which cores it may use.
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
/// The same with states that last for an hour, so that all keys are there at once.
pub(crate) const LASTING_CRAB: System =
    on_one_core("throttlecrab", throttlecrab, &["THROTTLE", "KEY", "15", "1", "3600"]);
pub(crate) const LASTING: System =
    on_one_core("tollgate", ours, &["CL.THROTTLE", "KEY", "15", "1", "3600"]);
pub(crate) const HTTP_CRAB: System = on_one_core("throttlecrab", throttlecrab_http, &CRAB_POST);
/// It only answers whether the request may pass, so it is asked with the smallest there is.
pub(crate) const NGINX: System = on_one_core("nginx limit_req", nginx, &["GET", "/?key=KEY"]);
pub(crate) const HTTP_OURS: System = on_one_core("tollgate", ours_http, &OUR_POST);
pub(crate) const ONE_LOOP: System =
    System { name: "tollgate, one loop", start: ours, command: &THROTTLE, cores: BOTH_CORES };
pub(crate) const TWO_LOOPS: System = System {
    name: "tollgate, two threads",
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
    /// The first of them first: it would start those anew that end before it.
    fn drop(&mut self) {
        let started = process::started_by(self.pid()).unwrap_or_default();
        let _ = self.process.kill();
        let _ = self.process.wait();
        started.into_iter().for_each(process::kill);
    }
}
