//! Virtual time.

use std::time::Duration;

use tokio::time::Instant;
use tollgate::{Clock, Time};

use crate::plan::{NodePlan, Plan};
use crate::trace::micros;

/// The true time at the start, in microseconds: not at the start of any window.
pub(crate) const START: u64 = 1_700_000_000_123_457;

/// The time since the start of a run.
#[derive(Clone, Copy)]
pub(crate) struct Timeline(Instant);

impl Timeline {
    pub(crate) fn start() -> Timeline {
        Timeline(Instant::now())
    }

    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }

    /// Returns whether nothing breaks any more.
    pub(crate) fn is_over(self, plan: &Plan) -> bool {
        self.elapsed() >= plan.length
    }

    /// Returns the clock with the true time.
    pub(crate) fn clock(self) -> Clock {
        Clock::from_fn(move || time(START + micros(self.elapsed())))
    }

    /// Returns the clock of a node.
    pub(crate) fn clock_of(self, node: &NodePlan) -> Clock {
        let (rate, start) = (node.rate, START.checked_add_signed(node.offset).unwrap());
        Clock::from_fn(move || time(start + micros(self.elapsed()) * rate / 1_000_000))
    }
}

fn time(micros: u64) -> Time {
    Time::from_micros(micros).unwrap()
}
