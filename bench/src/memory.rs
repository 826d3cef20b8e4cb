//! How much memory this process has.

use std::fs;

use anyhow::Context;

/// The bytes that are resident now, as the kernel counts them: what the allocator holds back and
/// what lies between two allocations is in it.
pub(crate) fn resident() -> anyhow::Result<u64> {
    let status =
        fs::read_to_string("/proc/self/status").context("cannot read /proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|rest| rest.trim().strip_suffix(" kB"));
    let kib: u64 = kib.context("no VmRSS in /proc/self/status")?.parse()?;
    Ok(kib * 1024)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_process_has_some_memory() {
        assert!(super::resident().unwrap() > 100_000);
    }
}
