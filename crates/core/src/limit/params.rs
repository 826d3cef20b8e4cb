//! The numbers of a limit, for whatever decides or describes it outside this process.

use super::Limit;
use crate::rule::{Alignment, Capacity, Rule, RuleParams};
use crate::sealed::Sealed;
use crate::time::Time;

/// What a remote store, or a description for clients, needs of a [`Limit`].
pub trait LimitParams: Sealed {
    /// Returns the numbers it counts with, for a store that decides outside this process.
    #[must_use]
    fn params(&self) -> RuleParams;

    /// Returns the exact capacity, after the factor. With a state it is all that
    /// [`remote_decision`](crate::remote::remote_decision) needs.
    #[must_use]
    fn exact_capacity(&self) -> Capacity;

    /// Returns the bounds of three adjacent windows of the calendar, the middle one containing
    /// `at`; `None` if the limit does not count by the calendar. A remote store that knows no
    /// calendar can choose among them by its own time.
    #[must_use]
    fn windows_around(&self, at: Time) -> Option<[Time; 4]>;
}

impl LimitParams for Limit {
    fn params(&self) -> RuleParams {
        self.rule.params()
    }

    fn exact_capacity(&self) -> Capacity {
        self.rule.exact_capacity()
    }

    fn windows_around(&self, at: Time) -> Option<[Time; 4]> {
        let Rule::Window(rule) = &self.rule else { return None };
        let Alignment::Calendar(calendar) = rule.alignment() else { return None };
        let (start, end) = calendar.bounds_at(at);
        let before = Time::at(start.as_micros().saturating_sub(1));
        Some([calendar.bounds_at(before).0, start, end, calendar.bounds_at(end).1])
    }
}
