//! The CPU time of Redis, as Redis reports it.

use anyhow::Context;
use tollgate_fixtures::Server;

/// Returns the CPU seconds used so far.
pub(crate) fn cpu_seconds(server: &Server) -> anyhow::Result<f64> {
    parse(&server.cli(&["info", "cpu"])).context("INFO cpu has no CPU time")
}

/// Returns the time of the main thread, which does all the work. Old versions report only the whole
/// process, which includes freeing memory in the background.
fn parse(info: &str) -> Option<f64> {
    let field = |name: &str| -> Option<f64> {
        info.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok())
    };
    let both = |user, system| Some(field(user)? + field(system)?);
    both("used_cpu_user_main_thread", "used_cpu_sys_main_thread")
        .or_else(|| both("used_cpu_user", "used_cpu_sys"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "# CPU\r\nused_cpu_sys:1.500000\r\nused_cpu_user:2.250000\r\n\
                       used_cpu_sys_children:9.0\r\nused_cpu_user_children:9.0\r\n";

    #[test]
    fn the_main_thread_is_preferred() {
        let new =
            format!("{OLD}used_cpu_sys_main_thread:0.25\r\nused_cpu_user_main_thread:0.500000\r\n");
        assert_eq!(parse(&new), Some(0.75));
    }

    #[test]
    fn old_versions_report_the_process() {
        assert_eq!(parse(OLD), Some(3.75));
    }

    #[test]
    fn anything_else_is_none() {
        assert_eq!(parse(""), None);
        assert_eq!(parse("used_cpu_sys:1.5\r\n"), None);
        assert_eq!(parse("used_cpu_sys:1.5\r\nused_cpu_user:much\r\n"), None);
    }
}
