//! What can be asked of a key.

use std::fmt;

use crate::limit::Limit;
use crate::subject::{Id, Name, Subject};

/// The most one operation can take. Costs are whole numbers from 0 to this.
pub const MAX_COST: u64 = u32::MAX as u64;

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
    #[must_use]
    pub fn named(name: &str) -> Option<Act> {
        Act::ALL.into_iter().find(|act| act.name() == name)
    }

    /// Whether it can be denied.
    #[must_use]
    pub const fn asks(self) -> bool {
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

/// One limit and whom it counts in this operation.
#[derive(Debug, Clone, Copy)]
pub struct Item<'a> {
    /// The limit; it needs no registration and may differ from call to call.
    pub limit: &'a Limit,
    /// Whose state it is held against.
    pub subject: Subject<'a>,
}

/// One operation: limits that stand or fall together, and what to do with them.
#[derive(Debug, Clone, Copy)]
pub struct Op<'a> {
    /// The policy whose states these are.
    pub policy: &'a Name,
    /// Its limits in order. State belongs to (policy, position, rule, subject).
    pub items: &'a [Item<'a>],
    /// What to do.
    pub act: Act,
    /// How much, at most [`MAX_COST`]. The actual cost for `Settle`.
    pub cost: u64,
    /// Names the reservation or lease, and makes a retry safe.
    pub id: Option<Id<'a>>,
}

impl Op<'_> {
    /// What is wrong with the operation itself, whatever the store.
    pub(crate) fn flaw(&self) -> Option<&'static str> {
        if self.cost > MAX_COST {
            return Some("a cost above 4294967295");
        }
        if self.act.needs_id() && self.id.is_none() {
            return Some("an operation that needs an id has none");
        }
        None
    }
}
