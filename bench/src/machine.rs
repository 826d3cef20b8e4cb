//! The machine, compiler and commit of the figures.

use std::fmt;
use std::fs;
use std::process::Command;
use std::thread;

struct Machine {
    cpu: String,
    cores: usize,
    rustc: String,
    commit: String,
    /// Load average of the last minute, before the benches began.
    load: Option<f64>,
}

/// Load above which other processes disturb the figures.
const BUSY_LOAD: f64 = 0.5;

/// Prints the machine, and a warning if it is busy.
///
/// With `json` it goes to standard error, since standard output has figures only.
pub(crate) fn print(json: bool) {
    let machine = Machine::detect();
    match json {
        true => eprintln!("{machine}"),
        false => println!("{machine}"),
    }
    if machine.is_busy() {
        // Two threads that share a core do not contend, nor do a client and its server.
        eprintln!(
            "warning: the machine is busy; figures of several threads or processes are unreliable"
        );
    }
}

impl Machine {
    fn detect() -> Machine {
        let directory = env!("CARGO_MANIFEST_DIR");
        let commit =
            ["-C", directory, "describe", "--always", "--dirty", "--abbrev=10", "--exclude=*"];
        Machine {
            cpu: cpu().unwrap_or_else(|| "unknown processor".to_owned()),
            cores: thread::available_parallelism().map_or(1, usize::from),
            rustc: output_of("rustc", &["--version"]).unwrap_or_else(|| "unknown rustc".to_owned()),
            commit: output_of("git", &commit).unwrap_or_else(|| "unknown".to_owned()),
            load: load(),
        }
    }

    fn is_busy(&self) -> bool {
        self.load.is_some_and(|load| load > BUSY_LOAD)
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Machine { cpu, cores, rustc, commit, load } = self;
        let load = load.map_or(String::new(), |load| format!(", load {load:.2}"));
        writeln!(f, "{cpu}, {cores} cores{load}")?;
        write!(f, "{rustc}, commit {commit}")
    }
}

fn cpu() -> Option<String> {
    let info = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    line.split_once(':').map(|(_, name)| name.trim().to_owned())
}

fn load() -> Option<f64> {
    let load = fs::read_to_string("/proc/loadavg").ok()?;
    load.split_whitespace().next()?.parse().ok()
}

fn output_of(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok().filter(|o| o.status.success())?;
    String::from_utf8(output.stdout).ok().map(|text| text.trim().to_owned())
}
