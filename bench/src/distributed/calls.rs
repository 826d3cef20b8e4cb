//! The calls of the store, as the store counts them.

use tollgate_fixtures::Server;

/// The commands that run scripts. Commands within a script are counted by themselves, but are no calls.
const SCRIPT_COMMANDS: [&str; 3] = ["eval", "evalsha", "fcall"];

/// Returns the number of script calls so far.
pub(crate) fn count(server: &Server) -> u64 {
    sum(&server.cli(&["info", "commandstats"]))
}

/// Adds up lines such as `cmdstat_evalsha:calls=42,usec=1024,…`.
fn sum(info: &str) -> u64 {
    let calls = |line: &str| -> Option<u64> {
        let (command, fields) = line.strip_prefix("cmdstat_")?.split_once(':')?;
        let calls = fields.strip_prefix("calls=")?.split(',').next()?;
        SCRIPT_COMMANDS.contains(&command).then(|| calls.parse().ok())?
    };
    info.lines().filter_map(calls).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_scripts_are_calls() {
        let info = "# Commandstats\r\ncmdstat_evalsha:calls=42,usec=9,rejected_calls=0\r\n\
                    cmdstat_get:calls=1000,usec=9\r\ncmdstat_eval:calls=3,usec=9\r\n\
                    cmdstat_script|load:calls=7,usec=9\r\n";
        assert_eq!(sum(info), 45);
        assert_eq!(sum(""), 0);
    }
}
