//! What a rule is to the rest of the model: a history replayed, and two questions to it.

use crate::Rule;
use crate::drip::Drip;
use crate::estimate::Estimate;
use crate::fade::Fade;
use crate::flow::Flow;
use crate::held::Held;
use crate::slots::Slots;
use crate::window::OneWindow;

/// The greatest count or level a state may hold.
pub(crate) const GREATEST_COUNT: u64 = (1 << 52) - 1;

/// A name the caller gave, as its number in the key's list of names.
pub(crate) type Id = usize;

/// Something that changed a limit's counts, at the instant it was decided for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Event {
    pub when: u64,
    pub change: Change,
}

/// The ways to change counts. `at` is the instant for which a reservation was taken.
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
    /// `first` is what the reservation itself took.
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
    /// What it adds, for the rules to which only the amount matters.
    pub fn amount(self) -> i128 {
        match self {
            Change::Take { cost, .. } | Change::TakeLate { cost, .. } => i128::from(cost),
            Change::Refund { cost } | Change::GiveBack { cost, .. } => -i128::from(cost),
            Change::Release { .. } | Change::Renew { .. } => 0,
        }
    }

    /// Whether it can raise a count.
    pub fn takes(self) -> bool {
        matches!(self, Change::Take { .. } | Change::TakeLate { .. })
    }

    /// Whether it can lower a count.
    pub fn gives(self) -> bool {
        matches!(self, Change::Refund { .. } | Change::GiveBack { .. } | Change::Release { .. })
    }
}

/// The counts a history leaves. Every `t` here is an instant no earlier than [`Self::instant`].
pub(crate) trait Counting {
    /// The instant the state implies (law 6); 0 where it implies none.
    fn instant(&self) -> u64;

    /// Whether a check of `cost` would be allowed at `t`. Once true, later it stays true.
    fn fits(&self, t: u64, cost: u64) -> bool;

    /// Whether the state cannot be told from none at `t`. Once true, later it stays true.
    fn empty(&self, t: u64) -> bool;

    /// Whether the count at `t` is beyond [`GREATEST_COUNT`].
    fn overflows(&self, t: u64) -> bool;

    /// How much of what was taken for `at` under `id` could be given back at `t`.
    fn still(&self, t: u64, at: u64, id: Id) -> u64;

    /// Adds an event. False if it changes nothing; then all is left as it was.
    fn apply(&mut self, event: &Event) -> bool;
}

/// A rule without any history.
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

/// The most that fits into a fresh key; `None` is no bound.
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

/// Allows all and keeps nothing.
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

    fn still(&self, _: u64, _: u64, _: Id) -> u64 {
        0
    }

    fn apply(&mut self, _: &Event) -> bool {
        false
    }
}
