//! CPU time and memory of a process, from `/proc`.

use std::fs;

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};

/// Returns the CPU seconds of all threads of a process and of its child processes.
pub(crate) fn cpu_seconds(pid: u32) -> anyhow::Result<f64> {
    let mut nanos = nanos(pid)?;
    for child in children_of(pid)? {
        nanos += self::nanos(child)?;
    }
    Ok(nanos as f64 / 1e9)
}

fn nanos(pid: u32) -> anyhow::Result<u64> {
    let times = of_threads(pid, "schedstat")?;
    let time = |text: &String| cpu_nanos(text).context("schedstat has no time");
    times.iter().map(time).sum()
}

/// Returns the running child processes: nginx works in one of them.
pub(crate) fn children_of(pid: u32) -> anyhow::Result<Vec<u32>> {
    let lists = of_threads(pid, "children")?;
    let pids = lists.iter().flat_map(|list| list.split_whitespace());
    pids.map(|pid| pid.parse().with_context(|| format!("{pid} is not a process id"))).collect()
}

/// Reads the file of this name of each thread.
fn of_threads(pid: u32, file: &str) -> anyhow::Result<Vec<String>> {
    let threads = fs::read_dir(format!("/proc/{pid}/task"))?;
    threads.map(|thread| Ok(fs::read_to_string(thread?.path().join(file))?)).collect()
}

/// Kills a process, if it still runs.
pub(crate) fn kill(pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let _ = pid.map(|pid| kill_process(pid, Signal::KILL));
}

/// Returns the first of the three numbers: time on a CPU, time waiting for one, and how often.
fn cpu_nanos(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().next()?.parse().ok()
}

/// Returns the resident memory of a process.
pub(crate) fn resident_bytes(pid: u32) -> anyhow::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    resident(&status).context("status has no VmRSS")
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
    fn files_are_parsed() {
        assert_eq!(cpu_nanos("1500 20 3\n"), Some(1500));
        assert_eq!(resident("Name:\tx\nVmRSS:\t    1234 kB\n"), Some(1234 * 1024));
        assert_eq!(resident("Name:\tx\n"), None);
    }

    #[test]
    fn this_process_has_used_cpu_and_memory() {
        assert!(resident_bytes(std::process::id()).unwrap() > 0);
        assert!(cpu_seconds(std::process::id()).unwrap() > 0.0);
    }

    #[test]
    fn a_child_process_is_found_and_killed() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert!(children_of(std::process::id()).unwrap().contains(&child.id()));
        kill(child.id());
        assert!(!child.wait().unwrap().success());
    }
}
