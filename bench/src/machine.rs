//! Where and of what the figures are: without it they mean nothing.

use std::fmt;
use std::fs;
use std::process::Command;
use std::thread;

struct Machine {
    cpu: String,
    cores: usize,
    rustc: String,
    commit: String,
    /// Over the last minute, before we began.
    load: Option<f64>,
}

/// Above it, others are at work.
const BUSY: f64 = 0.5;

/// Says which machine this is, and whether others are at work on it.
///
/// What programs read is figures only; then it goes where the progress goes.
pub(crate) fn announce(json: bool) {
    let machine = Machine::look();
    match json {
        true => eprintln!("{machine}"),
        false => println!("{machine}"),
    }
    if machine.is_busy() {
        // Two threads that must share a core do not even meet; nor do a client and its server.
        eprintln!("others are at work on this machine: where two threads or two processes");
        eprintln!("are measured, the figures mean little");
    }
}

impl Machine {
    fn look() -> Machine {
        let here = env!("CARGO_MANIFEST_DIR");
        let commit = ["-C", here, "describe", "--always", "--dirty", "--abbrev=10", "--exclude=*"];
        Machine {
            cpu: cpu().unwrap_or_else(|| "unknown processor".to_owned()),
            cores: thread::available_parallelism().map_or(1, usize::from),
            rustc: said("rustc", &["--version"]).unwrap_or_else(|| "unknown rustc".to_owned()),
            commit: said("git", &commit).unwrap_or_else(|| "unknown".to_owned()),
            load: load(),
        }
    }

    fn is_busy(&self) -> bool {
        self.load.is_some_and(|load| load > BUSY)
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

fn said(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok().filter(|o| o.status.success())?;
    String::from_utf8(output.stdout).ok().map(|text| text.trim().to_owned())
}
