//! The interface of a rule: a replayed history, and what it counts.

use crate::Rule;
use crate::drip::Drip;
use crate::estimate::Estimate;
use crate::fade::Fade;
use crate::flow::Flow;
use crate::held::Held;
use crate::slots::Slots;
use crate::window::OneWindow;

/// Maximum count or level of a state.
pub(crate) const MAX_COUNT: u64 = (1 << 52) - 1;

/// An id given by the caller, as its index in the key's list of names.
pub(crate) type Id = usize;

/// A change of a limit's counts, at the instant of its decision.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Event {
    pub when: u64,
    pub change: Change,
}

/// A change of counts. `at` is the instant at which a reservation was taken.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Change {
    Take {
        cost: u64,
        id: Option<Id>,
    },
    Refund {
        cost: u64,
    },
    GiveBack {
        cost: u64,
        at: u64,
        id: Id,
    },
    /// Takes the rest of a reservation; `first` is what the reservation itself took.
    TakeLate {
        cost: u64,
        first: u64,
        at: u64,
        id: Id,
    },
    Release {
        id: Id,
    },
    Renew {
        id: Id,
    },
}

impl Change {
    /// Returns the amount that it adds, for rules to which only the amount matters.
    pub fn amount(self) -> i128 {
        match self {
            Change::Take { cost, .. } | Change::TakeLate { cost, .. } => i128::from(cost),
            Change::Refund { cost } | Change::GiveBack { cost, .. } => -i128::from(cost),
            Change::Release { .. } | Change::Renew { .. } => 0,
        }
    }

    /// Returns whether it can raise a count.
    pub fn takes(self) -> bool {
        matches!(self, Change::Take { .. } | Change::TakeLate { .. })
    }

    /// Returns whether it can lower a count.
    pub fn gives(self) -> bool {
        matches!(self, Change::Refund { .. } | Change::GiveBack { .. } | Change::Release { .. })
    }
}

/// The counts after a history. Every `t` is an instant no earlier than [`Self::instant`].
pub(crate) trait Counting {
    /// Returns the instant that the state implies (law 6); 0 if it implies none.
    fn instant(&self) -> u64;

    /// Returns whether a check of `cost` would be allowed at `t`. Once true, later it stays true.
    fn fits(&self, t: u64, cost: u64) -> bool;

    /// Returns whether the state is the same as none at `t`. Once true, later it stays true.
    fn empty(&self, t: u64) -> bool;

    /// Returns whether the count at `t` is beyond [`MAX_COUNT`].
    fn overflows(&self, t: u64) -> bool;

    /// Returns how much is held under `id` at `t`; `None` for rules without leases.
    fn held(&self, _t: u64, _id: Id) -> Option<u64> {
        None
    }

    /// Returns how much of what was taken at `at` under `id` can be given back at `t`.
    fn refundable(&self, t: u64, at: u64, id: Id) -> u64;

    /// Adds an event. Returns false if it changes nothing; then the state is left as it was.
    fn apply(&mut self, event: &Event) -> bool;
}

/// Returns the counts of a rule without any history.
pub(crate) fn fresh(rule: &Rule) -> Box<dyn Counting + '_> {
    match *rule {
        Rule::Flow { n, window, burst } => Box::new(Flow::new(n, window, burst)),
        Rule::Drip { size, drip, every } => Box::new(Drip::new(size, drip, every)),
        Rule::FixedWindow { n, ref window } => Box::new(OneWindow::fixed(n, window)),
        Rule::RequestWindow { n, window } => Box::new(OneWindow::request(n, window)),
        Rule::Slots { n, window, resolution, strict } => {
            Box::new(Slots::new(n, window, resolution, strict))
        }
        Rule::Estimate { n, window } => Box::new(Estimate::new(n, window)),
        Rule::Fade { max, decay, resolution } => Box::new(Fade::new(max, decay, resolution)),
        Rule::Held { leases, ttl } => Box::new(Held::new(leases, ttl)),
        Rule::Unlimited => Box::new(Unlimited),
    }
}

/// Returns the capacity of a rule; `None` if it has no bound.
pub(crate) fn capacity(rule: &Rule) -> Option<u64> {
    match *rule {
        Rule::Flow { burst, .. } => Some(burst),
        Rule::Drip { size, .. } => Some(size),
        Rule::FixedWindow { n, .. }
        | Rule::RequestWindow { n, .. }
        | Rule::Slots { n, .. }
        | Rule::Estimate { n, .. } => Some(n),
        Rule::Fade { max, .. } => Some(max.floor() as u64),
        Rule::Held { leases, .. } => Some(leases),
        Rule::Unlimited => None,
    }
}

/// Allows everything and keeps no state.
struct Unlimited;

impl Counting for Unlimited {
    fn instant(&self) -> u64 {
        0
    }

    fn fits(&self, _: u64, _: u64) -> bool {
        true
    }

    fn empty(&self, _: u64) -> bool {
        true
    }

    fn overflows(&self, _: u64) -> bool {
        false
    }

    fn refundable(&self, _: u64, _: u64, _: Id) -> u64 {
        0
    }

    fn apply(&mut self, _: &Event) -> bool {
        false
    }
}
