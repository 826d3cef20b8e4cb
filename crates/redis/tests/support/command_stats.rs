//! How often a server was called.

use std::collections::BTreeMap;

use tollgate_fixtures::Server;

/// Statistics of a server: how often each command was called, and how often it failed.
pub(crate) struct CommandStats(BTreeMap<String, (u64, u64)>);

impl CommandStats {
    fn of(server: &Server) -> CommandStats {
        let stats = server.cli(&["info", "commandstats"]);
        let line = |line: &str| {
            let (name, numbers) = line.trim().strip_prefix("cmdstat_")?.split_once(':')?;
            let number = |wanted: &str| {
                let mut pairs = numbers.split(',').filter_map(|pair| pair.split_once('='));
                let ttls = pairs.find(|(name, _)| *name == wanted);
                ttls.map_or(0, |(_, value)| value.parse().unwrap())
            };
            Some((name.to_owned(), (number("calls"), number("failed_calls"))))
        };
        CommandStats(stats.lines().filter_map(line).collect())
    }

    pub(crate) fn count(&self, name: &str) -> u64 {
        self.0.get(name).map_or(0, |(calls, _)| *calls)
    }

    pub(crate) fn failed(&self, name: &str) -> u64 {
        self.0.get(name).map_or(0, |(_, failed)| *failed)
    }

    /// Returns the commands that are neither expected nor for administration.
    pub(crate) fn others<'c>(&'c self, expected: &'c [&str]) -> Vec<&'c str> {
        let administration = ["info", "config|resetstat"];
        let known = |name: &&str| expected.contains(name) || administration.contains(name);
        self.0.keys().map(String::as_str).filter(|name| !known(name)).collect()
    }
}

/// Returns how often each command was called during some work.
pub(crate) fn calls_during(server: &Server, work: impl FnOnce()) -> CommandStats {
    server.cli(&["config", "resetstat"]);
    work();
    CommandStats::of(server)
}
