//! The operations on a key.

use std::fmt;

/// Maximum cost of one operation. Costs are whole numbers from 0 to this.
pub const MAX_COST: u64 = u32::MAX as u64;

/// What an operation does to a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Act {
    /// Decides, and takes the cost if allowed.
    Check,
    /// Returns what a check would decide, and changes nothing.
    Peek,
    /// Gives cost back, newest first, as far as it still counts.
    Refund,
    /// Takes the cost whatever the limit says. The key may go into debt.
    Charge,
    /// Forgets the key.
    Reset,
    /// Checks an estimated cost, which `Settle` corrects later.
    Reserve,
    /// Corrects a reservation. The key is then as if this cost had been charged when it was
    /// reserved, or stricter. Not allowed if the reservation is not open.
    Settle,
    /// Gives a lease back. Not allowed if it is not held.
    Release,
    /// Extends a lease by another `ttl`. Not allowed if it is not held.
    Renew,
}

impl Act {
    /// All operations.
    pub const ALL: [Act; 9] = [
        Act::Check,
        Act::Peek,
        Act::Refund,
        Act::Charge,
        Act::Reset,
        Act::Reserve,
        Act::Settle,
        Act::Release,
        Act::Renew,
    ];

    /// Returns its name in traces, protocols and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Act::Check => "check",
            Act::Peek => "peek",
            Act::Refund => "refund",
            Act::Charge => "charge",
            Act::Reset => "reset",
            Act::Reserve => "reserve",
            Act::Settle => "settle",
            Act::Release => "release",
            Act::Renew => "renew",
        }
    }

    /// Returns the operation with this name.
    ///
    /// ```
    /// use tollgate_core::Act;
    ///
    /// assert_eq!(Act::from_name("settle"), Some(Act::Settle));
    /// assert!(Act::Settle.needs_id());
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<Act> {
        Act::ALL.into_iter().find(|act| act.name() == name)
    }

    /// Returns whether it can be denied because its cost does not fit.
    #[must_use]
    pub const fn can_be_denied(self) -> bool {
        matches!(self, Act::Check | Act::Peek | Act::Reserve)
    }

    /// Returns whether it acts on what an earlier operation left under the same id: a reservation or a
    /// lease. It is not allowed if a limit has none, and then changes nothing in that limit.
    #[must_use]
    pub const fn is_follow_up(self) -> bool {
        matches!(self, Act::Settle | Act::Release | Act::Renew)
    }

    /// Returns whether it requires an id.
    #[must_use]
    pub const fn needs_id(self) -> bool {
        matches!(self, Act::Reserve | Act::Settle | Act::Release | Act::Renew)
    }

    /// Returns whether its id is remembered, because repeating it would take or give twice. `Renew`
    /// is meant to be repeated, and `Release` forgets the id.
    #[must_use]
    pub const fn is_remembered(self) -> bool {
        !matches!(self, Act::Peek | Act::Release | Act::Renew)
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
