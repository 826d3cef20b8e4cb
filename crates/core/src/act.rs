//! What can be done to a key.

use std::fmt;

/// An operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Act {
    /// Decide, and if allowed, take the cost.
    Check,
    /// Say what a check would, and change nothing.
    Peek,
    /// Give cost back, newest first, as far as it still counts.
    Refund,
    /// Take the cost whatever the limit says. The key may go into debt.
    Charge,
    /// Forget the key.
    Reset,
    /// A check whose cost is an estimate, to be corrected by `Settle`.
    Reserve,
    /// Correct a reservation: as if this cost had been charged when it was reserved, or stricter.
    Settle,
    /// Give a lease back.
    Release,
    /// Keep a lease alive.
    Renew,
}

impl Act {
    /// All of them.
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

    /// The word for it in traces, protocols and metrics.
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

    /// The operation of that name.
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

    /// Whether it can be denied.
    #[must_use]
    pub const fn can_be_denied(self) -> bool {
        matches!(self, Act::Check | Act::Peek | Act::Reserve)
    }

    /// Whether it means nothing without an id.
    #[must_use]
    pub const fn needs_id(self) -> bool {
        matches!(self, Act::Reserve | Act::Settle | Act::Release | Act::Renew)
    }

    /// Whether doing it twice is worse than doing it once, so that its id is remembered. `Renew`
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
