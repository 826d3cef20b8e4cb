//! What the layers are set to do.

use std::time::Duration;

use tollgate::layers::{Distribution, FirstRead, OnFailure, Prefetch, WriteBehind};
use tollgate::{Percentage, Span};

use crate::limits::Rule;
use crate::rng::Rng;

/// A distribution without its settings. Every seed is run with each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Strict,
    WriteBehind,
    Prefetch,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mode {
    pub(crate) kind: Kind,
    pub(crate) on_failure: OnFailure,
    /// The cap or the greatest slice, in percent of the limit.
    pub(crate) part: u8,
    first_read: FirstRead,
}

impl Kind {
    pub(crate) const ALL: [Kind; 3] = [Kind::Strict, Kind::WriteBehind, Kind::Prefetch];
}

impl Mode {
    pub(super) fn random(rng: &mut Rng, kind: Kind) -> Mode {
        Mode {
            kind,
            on_failure: rng.pick(&OnFailure::ALL),
            part: rng.pick(&[5, 10, 20, 50, 100]),
            first_read: rng.pick(&[FirstRead::Sync, FirstRead::None]),
        }
    }

    /// Returns the distribution with a cap or a greatest slice of this many percent.
    pub(crate) fn distribution(&self, part: u8) -> Distribution {
        let part = Percentage::whole(part);
        match self.kind {
            Kind::Strict => Distribution::Strict,
            Kind::WriteBehind => Distribution::WriteBehind(
                WriteBehind::default().with_flush(FLUSH).with_cap(part).with_read(self.first_read),
            ),
            Kind::Prefetch => Distribution::Prefetch(Prefetch::default().with_max_slice(part)),
        }
    }

    /// Returns how much of a limit a node may have unwritten, or take ahead.
    pub(crate) fn share(&self, rule: &Rule) -> u64 {
        (rule.capacity() * u64::from(self.part) / 100).max(1)
    }

    /// Returns how much more than the store allows the nodes may admit together.
    ///
    /// With write-behind, all that a node admitted and the store did not know when it last answered the node
    /// is at most the cap. The node that was answered last counts all that the others had written, so that
    /// only what these had not written comes on top. With prefetch, all that was taken before a window
    /// begins may be spent in it; that still counted, so it is no more than the limit.
    pub(crate) fn excess(&self, rule: &Rule, nodes: usize) -> u64 {
        let nodes = nodes as u64;
        match self.kind {
            Kind::Strict => 0,
            Kind::WriteBehind => (nodes - 1) * self.share(rule),
            Kind::Prefetch => (nodes * self.share(rule)).min(rule.capacity()),
        }
    }

    /// Returns how long a node may keep what it has taken before it spends it, in microseconds.
    pub(crate) fn keeps_for(&self, rule: &Rule) -> u64 {
        match self.kind {
            Kind::Strict | Kind::WriteBehind => 0,
            Kind::Prefetch => rule.limit().full_reset_after().map_or(0, Span::as_micros),
        }
    }

    /// Returns how much more may be admitted when the state of a key was lost.
    ///
    /// The store admits the limit once more. With write-behind, each node that the store answers afterwards
    /// may be behind the others as before. Slices that were open are counted already.
    pub(crate) fn excess_after_loss(&self, rule: &Rule, nodes: usize) -> u64 {
        let behind = if self.kind == Kind::WriteBehind { self.excess(rule, nodes) } else { 0 };
        rule.after_reset() + behind
    }
}

/// How often cost is written behind.
const FLUSH: Duration = Duration::from_millis(10);
