//! How the checks of a policy are decided by many nodes on one store.

use std::fmt;
use std::time::Duration;

use tollgate_core::{Limit, Op, Spec};

use super::costs::Costs;
use crate::percentage::Percentage;

/// Default share of a limit that a node may leave unwritten or take ahead.
pub const DEFAULT_PART: Percentage = Percentage::whole(5);
/// Default interval at which a node writes to the store what it has admitted.
pub const DEFAULT_FLUSH: Duration = Duration::from_millis(10);

/// Who decides the checks of a policy: the store, or the node from what it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Distribution {
    /// The store decides every check. Exact.
    #[default]
    Strict,
    /// The node decides by what it knows of the key, and tells the store afterwards.
    WriteBehind(WriteBehind),
    /// The node takes a part of the quota ahead, and spends it without the store.
    Prefetch(Prefetch),
}

/// The settings of [`Distribution::WriteBehind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct WriteBehind {
    /// How often unwritten cost is written to the store. Default: [`DEFAULT_FLUSH`].
    pub flush: Duration,
    /// How much cost of a key may be unwritten, as a part of the limit; at least 1. Default: [`DEFAULT_PART`].
    pub cap: Percentage,
    /// What happens at the first check of a key. Default: [`FirstRead::Sync`].
    pub read: FirstRead,
}

/// What happens at the first check of a key that the node knows nothing of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum FirstRead {
    /// The store decides it.
    #[default]
    Sync,
    /// The node takes the key for a fresh one.
    None,
}

impl FirstRead {
    /// Every way to treat the first check of a key.
    pub const ALL: [FirstRead; 2] = [FirstRead::Sync, FirstRead::None];

    /// Returns its name in the config.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            FirstRead::Sync => "sync",
            FirstRead::None => "none",
        }
    }
}

/// The settings of [`Distribution::Prefetch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Prefetch {
    /// How much of a key's quota a node takes ahead, as a part of the limit; at least 1. Default:
    /// [`DEFAULT_PART`].
    pub max_slice: Percentage,
}

impl Default for WriteBehind {
    fn default() -> WriteBehind {
        WriteBehind { flush: DEFAULT_FLUSH, cap: DEFAULT_PART, read: FirstRead::default() }
    }
}

impl WriteBehind {
    #[inline]
    pub(super) fn is_possible_for(limit: &Limit) -> bool {
        !limit.gives_leases()
    }

    /// Returns the same with this interval.
    #[must_use]
    pub const fn with_flush(self, flush: Duration) -> WriteBehind {
        WriteBehind { flush, ..self }
    }

    /// Returns the same with this cap.
    #[must_use]
    pub const fn with_cap(self, cap: Percentage) -> WriteBehind {
        WriteBehind { cap, ..self }
    }

    /// Returns the same with this first read.
    #[must_use]
    pub const fn with_read(self, read: FirstRead) -> WriteBehind {
        WriteBehind { read, ..self }
    }
}

impl From<WriteBehind> for Distribution {
    fn from(settings: WriteBehind) -> Distribution {
        Distribution::WriteBehind(settings)
    }
}

impl From<Prefetch> for Distribution {
    fn from(settings: Prefetch) -> Distribution {
        Distribution::Prefetch(settings)
    }
}

impl Default for Prefetch {
    fn default() -> Prefetch {
        Prefetch { max_slice: DEFAULT_PART }
    }
}

impl Prefetch {
    #[inline]
    pub(super) fn is_possible_for(limit: &Limit) -> bool {
        let fades = matches!(limit.spec(), Spec::Ar1 { .. });
        !limit.gives_leases() && !limit.counts_denied() && !fades
    }

    /// Returns the same with this bound.
    #[must_use]
    pub const fn with_max_slice(self, max_slice: Percentage) -> Prefetch {
        Prefetch { max_slice }
    }
}

impl Distribution {
    /// The names of all distributions in the config.
    pub const NAMES: [&'static str; 3] = ["strict", "write-behind", "prefetch"];

    /// Returns its name in the config.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Distribution::Strict => "strict",
            Distribution::WriteBehind(_) => "write-behind",
            Distribution::Prefetch(_) => "prefetch",
        }
    }

    /// Returns how much more than a limit may be admitted in any of its windows while the store answers, with
    /// this many nodes.
    ///
    /// ```
    /// use tollgate::Limit;
    /// use tollgate::layers::{Distribution, Prefetch, WriteBehind};
    ///
    /// let limit: Limit = "sliding-log 1000/s".parse()?;
    /// assert_eq!(Distribution::Strict.max_over_admission(&limit, 4), 0);
    /// let write_behind = Distribution::WriteBehind(WriteBehind::default());
    /// assert_eq!(write_behind.max_over_admission(&limit, 4), 150);
    /// let prefetch = Distribution::Prefetch(Prefetch::default());
    /// assert_eq!(prefetch.max_over_admission(&limit, 4), 200);
    /// # Ok::<(), tollgate::LimitError>(())
    /// ```
    #[must_use]
    pub fn max_over_admission(self, limit: &Limit, nodes: u32) -> u64 {
        let (Some(capacity), true) = (limit.capacity(), self.is_possible_for(limit)) else {
            return 0;
        };
        let nodes = u64::from(nodes.max(1));
        match self {
            Distribution::Strict => 0,
            Distribution::WriteBehind(settings) => {
                nodes.saturating_sub(1).saturating_mul(part_of(capacity, settings.cap))
            }
            Distribution::Prefetch(settings) => {
                nodes.saturating_mul(part_of(capacity, settings.max_slice)).min(capacity)
            }
        }
    }

    /// Returns whether a limit can be decided so. Leases are always the store's; quota of a fading limit, or
    /// of one that counts denied checks, cannot be taken ahead.
    #[must_use]
    pub fn is_possible_for(self, limit: &Limit) -> bool {
        match self {
            Distribution::Strict => true,
            Distribution::WriteBehind(_) => WriteBehind::is_possible_for(limit),
            Distribution::Prefetch(_) => Prefetch::is_possible_for(limit),
        }
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Returns a part of the capacity of a limit, at least 1.
fn part_of(capacity: u64, part: Percentage) -> u64 {
    part.of(capacity).max(1)
}

/// Returns a part of each limit of an operation, at least 1.
pub(super) fn parts_of(op: &Op<'_>, part: Percentage) -> Costs {
    let of = |limit: &Limit| limit.capacity().map_or(u64::MAX, |all| part_of(all, part));
    op.items.iter().map(|item| of(item.limit)).collect()
}
