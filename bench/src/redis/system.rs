//! Who is measured, in the order of their turns.
//!
//! Limits are such that every check passes, and so writes: a thousand at once, and a state that lasts
//! a minute, for all. A rate of a thousand a minute would be the same for windows, but the state of a
//! flow that was used once would be gone after 60 ms, and no key would be known.

use crate::redis::peers::{self, Peer};

pub(crate) struct System {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
}

pub(crate) enum Kind {
    Ours {
        /// The limits of the policy.
        lines: &'static [&'static str],
        /// How many keys are checked in one call.
        batch: usize,
    },
    Peer {
        peer: &'static Peer,
        /// Which of its ways to count, where it has several.
        strategy: Option<&'static str>,
    },
}

/// The peer that all are compared with.
pub(crate) const BASE: &str = "rate-limiter-flexible";

/// Ours, the row to hold against the peer.
pub(crate) const MAIN: &str = "tollgate gcra";

const GCRA: &str = "gcra 1/min burst 1000";

pub(crate) const ALL: [System; 16] = [
    System { name: BASE, kind: Kind::Peer { peer: &peers::FLEXIBLE, strategy: None } },
    limits("limits fixed-window", "fixed-window"),
    limits("limits moving-window", "moving-window"),
    limits("limits sliding-window", "sliding-window-counter"),
    ours(MAIN, &[GCRA]),
    ours("tollgate token-bucket", &["token-bucket 1/min burst 1000"]),
    ours("tollgate leaky-bucket", &["leaky-bucket size 1000 drip 1 every 1min"]),
    ours("tollgate fixed-window", &["fixed-window 1000/min"]),
    ours("tollgate request-window", &["request-window 1000/min"]),
    ours("tollgate sliding-log", &["sliding-log 1000/min"]),
    ours("tollgate sliding-counters", &["sliding-counters 1000/min resolution 6s"]),
    ours("tollgate sliding-window", &["sliding-window 1000/min"]),
    ours("tollgate ar1", &["ar1 max 1000 decay 2 resolution 1min"]),
    ours("tollgate concurrency", &["concurrency 1000 ttl 1min"]),
    ours("tollgate two limits", &[GCRA, "fixed-window 1000/min"]),
    System { name: "tollgate gcra batch16", kind: Kind::Ours { lines: &[GCRA], batch: 16 } },
];

const fn ours(name: &'static str, lines: &'static [&'static str]) -> System {
    System { name, kind: Kind::Ours { lines, batch: 1 } }
}

const fn limits(name: &'static str, strategy: &'static str) -> System {
    System { name, kind: Kind::Peer { peer: &peers::LIMITS, strategy: Some(strategy) } }
}

pub(crate) fn find(name: &str) -> Option<&'static System> {
    ALL.iter().find(|system| system.name == name)
}

impl System {
    /// The name without what all of ours have in common, and without spaces: for the command line.
    pub(crate) fn short(&self) -> String {
        self.name.strip_prefix("tollgate ").unwrap_or(self.name).replace(' ', "-")
    }
}

/// The name of the system with this short name, or the mistake.
pub(crate) fn parse(short: &str) -> Result<&'static str, String> {
    let found = ALL.iter().find(|system| system.short() == short);
    found.map(|system| system.name).ok_or_else(|| {
        let names: Vec<String> = ALL.iter().map(System::short).collect();
        format!("expected one of {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_core::{Name, Policy};

    #[test]
    fn the_rows_that_count_are_there() {
        assert!(find(BASE).is_some() && find(MAIN).is_some());
    }

    #[test]
    fn short_names_find_every_system() {
        assert!(ALL.iter().all(|system| parse(&system.short()) == Ok(system.name)));
        assert_eq!(parse("gcra"), Ok(MAIN));
        assert!(
            parse("crga")
                .unwrap_err()
                .contains("limits-moving-window, limits-sliding-window, gcra")
        );
    }

    #[test]
    fn all_limits_can_be_read() {
        for system in &ALL {
            if let Kind::Ours { lines, .. } = system.kind {
                assert!(Policy::parse(Name::default(), lines).is_ok(), "{}", system.name);
            }
        }
    }
}
