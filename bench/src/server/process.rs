//! What a process has used: from `/proc`.

use std::fs;

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};

/// The seconds of processor time of all threads, its own and those of the processes it started.
pub(crate) fn cpu_seconds(pid: u32) -> anyhow::Result<f64> {
    let mut nanos = nanos(pid)?;
    for other in started_by(pid)? {
        nanos += self::nanos(other)?;
    }
    Ok(nanos as f64 / 1e9)
}

fn nanos(pid: u32) -> anyhow::Result<u64> {
    let times = of_threads(pid, "schedstat")?;
    let time = |text: &String| on_processor(text).context("schedstat tells no time");
    times.iter().map(time).sum()
}

/// The processes that it started and that still are: nginx works in one of them.
pub(crate) fn started_by(pid: u32) -> anyhow::Result<Vec<u32>> {
    let lists = of_threads(pid, "children")?;
    let pids = lists.iter().flat_map(|list| list.split_whitespace());
    pids.map(|pid| pid.parse().with_context(|| format!("{pid} is no process"))).collect()
}

/// What the file of this name says of each thread.
fn of_threads(pid: u32, file: &str) -> anyhow::Result<Vec<String>> {
    let threads = fs::read_dir(format!("/proc/{pid}/task"))?;
    threads.map(|thread| Ok(fs::read_to_string(thread?.path().join(file))?)).collect()
}

/// Ends a process, if it is still there.
pub(crate) fn kill(pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let _ = pid.map(|pid| kill_process(pid, Signal::KILL));
}

/// The time on a processor, the time waiting for one, and how often.
fn on_processor(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().next()?.parse().ok()
}

/// The bytes of its memory that are in use.
pub(crate) fn resident_bytes(pid: u32) -> anyhow::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    resident(&status).context("status tells no memory")
}

fn resident(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_understood() {
        assert_eq!(on_processor("1500 20 3\n"), Some(1500));
        assert_eq!(resident("Name:\tx\nVmRSS:\t    1234 kB\n"), Some(1234 * 1024));
        assert_eq!(resident("Name:\tx\n"), None);
    }

    #[test]
    fn this_process_has_used_some() {
        assert!(resident_bytes(std::process::id()).unwrap() > 0);
        assert!(cpu_seconds(std::process::id()).unwrap() > 0.0);
    }

    #[test]
    fn a_process_that_was_started_is_found_and_killed() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert!(started_by(std::process::id()).unwrap().contains(&child.id()));
        kill(child.id());
        assert!(!child.wait().unwrap().success());
    }
}
