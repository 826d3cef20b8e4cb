//! What was admitted and given back for one key, in order.

use std::fmt;

use tollgate::Act;

use crate::limits::Rule;
use crate::trace::{Booking, Run};

/// What can make a difference to a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    Admitted(u64),
    Given(u64),
}

/// The events of one key, each with its instant.
pub(super) struct Ledger(Vec<(u64, Event)>);

/// The time in which most was admitted.
pub(super) struct Worst {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) admitted: u64,
    /// What the limit and what was given back allow.
    pub(super) bound: u64,
}

impl fmt::Display for Worst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Worst { from, to, admitted, bound } = self;
        write!(f, "{admitted} from {from} to {to}, where {bound} are allowed")
    }
}

impl Worst {
    /// Returns how much more was admitted than the bound.
    pub(super) fn excess(&self) -> u64 {
        self.admitted.saturating_sub(self.bound)
    }
}

impl Ledger {
    pub(super) fn new(events: impl Iterator<Item = (u64, Event)>) -> Ledger {
        let mut events: Vec<(u64, Event)> = events.collect();
        // At the same instant, what is given may have come first.
        events.sort_by_key(|(at, event)| (*at, matches!(event, Event::Admitted(_))));
        Ledger(events)
    }

    /// Returns the time in which a limit was exceeded most, or reached most closely. What was given counts for
    /// `kept` microseconds: so long it may be kept before it is spent.
    pub(super) fn worst(&self, rule: &Rule, kept: u64) -> Option<Worst> {
        let starts = self.0.iter().filter(|(_, event)| matches!(event, Event::Admitted(_)));
        let worst = starts.filter_map(|(from, _)| self.worst_from(*from, rule, kept));
        worst.max_by_key(|worst| i128::from(worst.admitted) - i128::from(worst.bound))
    }

    fn worst_from(&self, from: u64, rule: &Rule, kept: u64) -> Option<Worst> {
        let index = self.0.partition_point(|(at, _)| *at < from);
        let first_kept = self.0.partition_point(|(at, _)| at + kept < from);
        let kept = self.0[first_kept..index].iter().map(|(_, event)| match event {
            Event::Admitted(_) => 0,
            Event::Given(cost) => *cost,
        });
        let (mut admitted, mut given) = (0, kept.sum::<u64>());
        let times = self.0[index..].iter().map_while(|(to, event)| {
            match event {
                Event::Admitted(cost) => admitted += cost,
                Event::Given(cost) => given += cost,
            }
            let bound = rule.bound(from, *to, 1)? + given;
            Some(Worst { from, to: *to, admitted, bound })
        });
        times.max_by_key(|worst| i128::from(worst.admitted) - i128::from(worst.bound))
    }
}

/// Returns what callers gave back to a key, or what it got because its state was lost. Each such loss adds
/// `after_loss`.
pub(super) fn given<'r>(
    run: &'r Run,
    rule: &'r Rule,
    bookings: &'r [&Booking],
    after_loss: u64,
) -> impl Iterator<Item = (u64, Event)> + 'r {
    let booked = bookings.iter().filter_map(move |booking| {
        let given = match booking.op.act {
            Act::Reset => after_loss,
            Act::Refund => booking.given.max(booking.op.cost()) + shift(rule),
            _ => return None,
        };
        Some((booking.at, Event::Given(given)))
    });
    let forgotten = run.forgets.iter().map(move |at| (*at, Event::Given(after_loss)));
    booked.chain(forgotten)
}

/// Water that leaves early may let the next drop fall at another time.
pub(super) fn shift(rule: &Rule) -> u64 {
    rule.after_reset() - rule.capacity()
}
