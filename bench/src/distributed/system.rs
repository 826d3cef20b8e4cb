//! The systems that are measured, in the order of their turns.

use tollgate::layers::{Distribution, Prefetch, WriteBehind};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum System {
    Flexible,
    Trypema,
    NoLayers,
    Strict,
    WriteBehind,
    Prefetch,
}

pub(crate) const FLEXIBLE: &str = "rate-limiter-flexible";
pub(crate) const TRYPEMA: &str = "trypema";
pub(crate) const NO_LAYERS: &str = "tollgate no-layers";
pub(crate) const STRICT: &str = "tollgate strict";
pub(crate) const WRITE_BEHIND: &str = "tollgate write-behind";
pub(crate) const PREFETCH: &str = "tollgate prefetch";

/// Our modes.
pub(crate) const MODES: [System; 3] = [System::Strict, System::WriteBehind, System::Prefetch];

impl System {
    pub(crate) const ALL: [System; 6] = [
        System::Flexible,
        System::Trypema,
        System::NoLayers,
        System::Strict,
        System::WriteBehind,
        System::Prefetch,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            System::Flexible => FLEXIBLE,
            System::Trypema => TRYPEMA,
            System::NoLayers => NO_LAYERS,
            System::Strict => STRICT,
            System::WriteBehind => WRITE_BEHIND,
            System::Prefetch => PREFETCH,
        }
    }

    /// Returns the name in that of a bench, such as `hot-key/strict`: without our common prefix.
    pub(crate) fn short(self) -> &'static str {
        self.name().strip_prefix("tollgate ").unwrap_or(self.name())
    }

    pub(crate) fn find(name: &str) -> Option<System> {
        System::ALL.into_iter().find(|system| system.short() == name)
    }

    /// Returns who decides the checks, if layers are around our store.
    pub(crate) fn distribution(self) -> Option<Distribution> {
        match self {
            System::Strict => Some(Distribution::Strict),
            System::WriteBehind => Some(Distribution::WriteBehind(WriteBehind::default())),
            System::Prefetch => Some(Distribution::Prefetch(Prefetch::default())),
            System::Flexible | System::Trypema | System::NoLayers => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_find_every_system() {
        assert!(System::ALL.iter().all(|system| System::find(system.short()) == Some(*system)));
        assert_eq!(System::Strict.short(), "strict");
    }
}
