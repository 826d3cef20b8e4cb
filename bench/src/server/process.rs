//! What a process has used: from `/proc`.

use std::fs;

use anyhow::Context;

/// The seconds of processor time of all its threads.
pub(crate) fn cpu_seconds(pid: u32) -> anyhow::Result<f64> {
    let mut nanos = 0_u64;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = fs::read_to_string(thread?.path().join("schedstat"))?;
        nanos += on_processor(&text).context("schedstat tells no time")?;
    }
    Ok(nanos as f64 / 1e9)
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
}
