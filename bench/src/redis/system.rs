//! The systems that are measured, in the order of their turns.
//!
//! The limits allow every check, so every check writes: a burst of a thousand and a state that lasts a
//! minute. A rate of a thousand per minute would be the same for windows, but the state of a flow that
//! was used once would expire after 60 ms, and no key would be known.

use crate::peers::{self, Peer};

pub(crate) struct System {
    pub(crate) name: &'static str,
    pub(crate) kind: SystemKind,
}

pub(crate) enum SystemKind {
    Ours {
        /// The limits of the policy.
        lines: &'static [&'static str],
        /// Number of keys in one call.
        batch: usize,
    },
    Peer {
        peer: &'static Peer,
        /// Its algorithm, if it has several.
        strategy: Option<&'static str>,
    },
}

/// The peer with which all systems are compared.
pub(crate) const BASE: &str = "rate-limiter-flexible";

/// Our system to compare with the peer.
pub(crate) const MAIN: &str = "tollgate gcra";

const GCRA: &str = "gcra 1/min burst 1000";

pub(crate) const ALL: [System; 16] = [
    System { name: BASE, kind: SystemKind::Peer { peer: &peers::FLEXIBLE, strategy: None } },
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
    System { name: "tollgate gcra batch16", kind: SystemKind::Ours { lines: &[GCRA], batch: 16 } },
];

const fn ours(name: &'static str, lines: &'static [&'static str]) -> System {
    System { name, kind: SystemKind::Ours { lines, batch: 1 } }
}

const fn limits(name: &'static str, strategy: &'static str) -> System {
    System { name, kind: SystemKind::Peer { peer: &peers::LIMITS, strategy: Some(strategy) } }
}

pub(crate) fn find(name: &str) -> Option<&'static System> {
    ALL.iter().find(|system| system.name == name)
}

impl System {
    /// Returns the name for the command line: without our common prefix, and without spaces.
    pub(crate) fn short(&self) -> String {
        self.name.strip_prefix("tollgate ").unwrap_or(self.name).replace(' ', "-")
    }
}

/// Returns the name of the system with this short name.
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
    fn base_and_main_systems_exist() {
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
    fn all_limits_are_valid() {
        for system in &ALL {
            if let SystemKind::Ours { lines, .. } = system.kind {
                assert!(Policy::parse(Name::default(), lines).is_ok(), "{}", system.name);
            }
        }
    }
}
