//! Memory of this process.

use std::fs;

use anyhow::Context;

/// Returns the resident bytes according to the kernel. They include what the allocator keeps and the
/// gaps between allocations.
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
