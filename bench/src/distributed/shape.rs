//! The shapes of the traffic, in the order of their measurement.

use crate::distributed::figure::{ADMITTED, Figure, PACED, SLOW_STORE, SPEED};
use crate::distributed::system::{MODES, System};

/// Traffic of several nodes, and what is measured.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) quota: Quota,
    pub(crate) keys: Keys,
    pub(crate) warm_up: WarmUp,
    pub(crate) nodes: usize,
    pub(crate) pace: Pace,
    /// The length of a turn.
    pub(crate) seconds: Seconds,
    pub(crate) store: StoreSpeed,
    pub(crate) systems: &'static [System],
    /// The systems with which all others are compared.
    pub(crate) bases: &'static [System],
    pub(crate) figures: &'static [Figure],
}

/// A limit as each system expresses it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quota {
    /// Our limit.
    pub(crate) line: &'static str,
    /// The limit of peers, which all have windows.
    pub(crate) checks: u32,
    pub(crate) seconds: u32,
}

/// The keys of the checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    /// One key.
    One,
    /// A million keys: the second most frequent is checked half as often as the first, and so on.
    Zipf,
    /// A million keys, evenly distributed.
    Uniform,
}

/// The keys of the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WarmUp {
    /// Keys are then measured in the state in which they stay.
    SameKeys,
    /// What is allowed meanwhile must not count.
    OtherKey,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Each caller checks again as soon as it has its answer.
    FullSpeed,
    /// Number of checks per second of each node.
    PerSecond(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StoreSpeed {
    Normal,
    /// 500 ms slower.
    Slow,
}

/// The length of a turn, and with `--quick`.
pub(crate) struct Seconds {
    pub(crate) full: f64,
    pub(crate) quick: f64,
}

const UNLIMITED: Quota = Quota { line: "gcra 1000000000/s", checks: 1_000_000_000, seconds: 1 };
/// More than any key is checked, and the state of a key that was used once lasts a millisecond.
const GENEROUS: Quota = Quota { line: "gcra 1000000/s", checks: 1_000_000, seconds: 1 };
const EXHAUSTED: Quota = Quota { line: "sliding-log 10/h", checks: 10, seconds: 3600 };
const TEN_SECONDS: Quota = Quota { line: "sliding-log 1000/10s", checks: 1000, seconds: 10 };
const ONE_SECOND: Quota = Quota { line: "sliding-log 1000/s", checks: 1000, seconds: 1 };

/// The systems that are compared with each other.
const CONTENDERS: [System; 5] =
    [System::Flexible, System::Trypema, System::Strict, System::WriteBehind, System::Prefetch];

/// Full speed on two nodes.
const FULL_SPEED: Shape = Shape {
    name: "hot-key",
    about: "one key, always allowed",
    quota: UNLIMITED,
    keys: Keys::One,
    warm_up: WarmUp::SameKeys,
    nodes: 2,
    pace: Pace::FullSpeed,
    seconds: Seconds { full: 2.0, quick: 0.5 },
    store: StoreSpeed::Normal,
    systems: &CONTENDERS,
    bases: &[System::Flexible, System::Trypema],
    figures: &SPEED,
};

/// All nodes together may have 1,000 checks allowed in a turn.
const ADMISSION: Shape = Shape {
    name: "admitted",
    about: "1,000 allowed in 10 seconds, 2 nodes at full speed for 8",
    quota: TEN_SECONDS,
    warm_up: WarmUp::OtherKey,
    seconds: Seconds { full: 8.0, quick: 2.0 },
    bases: &[],
    figures: &ADMITTED,
    ..FULL_SPEED
};

pub(crate) const ALL: [Shape; 8] = [
    FULL_SPEED,
    Shape {
        name: "zipf",
        about: "a million keys by Zipf's law, always allowed",
        quota: GENEROUS,
        keys: Keys::Zipf,
        systems: &System::ALL,
        bases: &[System::NoLayers],
        ..FULL_SPEED
    },
    Shape {
        name: "distinct",
        about: "a million keys, evenly distributed, always allowed",
        quota: GENEROUS,
        keys: Keys::Uniform,
        systems: &[System::NoLayers, System::Strict],
        bases: &[System::NoLayers],
        ..FULL_SPEED
    },
    Shape { name: "denied", about: "one key, always denied", quota: EXHAUSTED, ..FULL_SPEED },
    ADMISSION,
    Shape {
        name: "admitted-4",
        about: "1,000 allowed in 10 seconds, 4 nodes at full speed for 8",
        nodes: 4,
        ..ADMISSION
    },
    Shape {
        name: "paced",
        about: "1,000 allowed a second, 2 nodes with 2,000 checks a second each",
        quota: ONE_SECOND,
        pace: Pace::PerSecond(2000),
        seconds: Seconds { full: 6.0, quick: 3.0 },
        figures: &PACED,
        ..ADMISSION
    },
    Shape {
        name: "slow-store",
        about: "a store 500 ms slow, 2 nodes with 1,000 checks a second each, timeout 20 ms",
        quota: GENEROUS,
        keys: Keys::Uniform,
        pace: Pace::PerSecond(1000),
        store: StoreSpeed::Slow,
        systems: &MODES,
        figures: &SLOW_STORE,
        ..ADMISSION
    },
];

pub(crate) fn find(name: &str) -> Option<&'static Shape> {
    static SHAPES: [Shape; 8] = ALL;
    SHAPES.iter().find(|shape| shape.name == name)
}

impl Shape {
    /// Returns the name of a bench: that of the shape and that of the system.
    pub(crate) fn bench(&self, system: System) -> String {
        format!("{}/{}", self.name, system.short())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_core::{Name, Policy};

    #[test]
    fn all_limits_are_valid() {
        for shape in &ALL {
            assert!(Policy::parse(Name::default(), [shape.quota.line]).is_ok(), "{}", shape.name);
        }
    }

    #[test]
    fn bases_are_measured_too() {
        for shape in &ALL {
            assert!(shape.bases.iter().all(|base| shape.systems.contains(base)), "{}", shape.name);
        }
    }
}
