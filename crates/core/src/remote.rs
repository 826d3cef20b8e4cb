//! For stores that decide in another place: what such a place must be told of a limit, and how what
//! it answers becomes a decision.
//!
//! A script inside Redis decides and writes; it would be slow, and a second truth, if it also worked
//! out `remaining`, `retry_after` and `reset_after`. So it answers with the states it left, and
//! [`remote_decision`] says of them what [`decide`](crate::decide) would have said.

use crate::decision::{Decision, DecisionBuilder, LimitStatus};
use crate::limit::Limit;
use crate::operation::Op;
use crate::policy::remembered;
use crate::rule::{Alignment, Capacity, Packed, Rule};
use crate::time::{Span, Time};

/// The numbers a limit counts with, after its factor.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum RuleParams {
    /// A bucket that sinks evenly; one unit takes `ticks / parts`, in lowest terms.
    Flow {
        /// The most it holds.
        capacity: u64,
        /// Microseconds,
        ticks: u64,
        /// for so many units.
        parts: u64,
    },
    /// A bucket that leaks so much, so often.
    Drip {
        /// The most it holds.
        size: u64,
        /// How much leaks at once.
        drip: u64,
        /// How often.
        every: Span,
    },
    /// Windows back to back from the epoch.
    Aligned {
        /// The most in each.
        capacity: u64,
        /// How long each is.
        window: Span,
    },
    /// Windows of the calendar; see [`Limit::windows_around`].
    Calendar {
        /// The most in each.
        capacity: u64,
    },
    /// Windows that open with the first request.
    Request {
        /// The most in each.
        capacity: u64,
        /// How long each is.
        window: Span,
    },
    /// A count for each slot of time.
    Slots {
        /// The most in all slots that count.
        capacity: u64,
        /// How wide a slot is.
        width: Span,
        /// How long one counts, from its start.
        life: Span,
    },
    /// Two counters.
    Estimate {
        /// The most by estimate.
        capacity: u64,
        /// How long a window is.
        window: Span,
    },
    /// A level that fades.
    Fade {
        /// The greatest level.
        max: f64,
        /// What it is divided by
        decay: f64,
        /// so often.
        resolution: Span,
        /// Below this it is nothing.
        floor: f64,
    },
    /// Leases.
    Held {
        /// The most at once.
        capacity: u64,
        /// How long one lasts.
        ttl: Span,
    },
    /// Nothing is counted.
    Unlimited,
}

/// What a far store has left of one limit's state.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum RemoteState {
    /// None.
    Nothing,
    /// A state of a few numbers.
    Packed(Packed),
    /// Of a longer one: what counts of it, when the cost that was asked fits (if it does not, but
    /// can), and when it resets.
    Counted {
        /// What is used.
        used: u64,
        /// When the cost fits, since the epoch.
        fits_at: Span,
        /// When it resets, since the epoch.
        resets: Span,
    },
}

impl Limit {
    /// The numbers it counts with.
    #[must_use]
    pub fn params(&self) -> RuleParams {
        match self.rule() {
            Rule::Flow(rule) => rule.params(),
            Rule::Drip(rule) => {
                let (size, drip, every) = rule.params();
                RuleParams::Drip { size, drip, every }
            }
            Rule::Window(rule) => rule.params(),
            Rule::Slots(rule) => rule.params(),
            Rule::Estimate(rule) => rule.params(),
            Rule::Fade(rule) => rule.params(),
            Rule::Held(rule) => rule.params(),
            Rule::Unlimited => RuleParams::Unlimited,
        }
    }

    /// The bounds of three windows of the calendar, the middle one around `at`; `None` if it does not
    /// go by the calendar. A place that knows no calendar can choose among them by its own time.
    #[must_use]
    pub fn windows_around(&self, at: Time) -> Option<[Time; 4]> {
        let Rule::Window(rule) = self.rule() else { return None };
        let Alignment::Calendar(calendar) = rule.alignment() else { return None };
        let (start, end) = calendar.around(at);
        let before = Time::at(start.as_micros().saturating_sub(1));
        Some([calendar.around(before).0, start, end, calendar.around(end).1])
    }

    /// What it is measured by: all that an answer needs to know of a limit beside its state.
    #[must_use]
    pub fn measure(&self) -> Capacity {
        self.rule().measure()
    }
}

impl Op<'_> {
    /// How long its answer is remembered by its id, if it is to be: see
    /// [`Outcome`](crate::Outcome::remember_until).
    #[must_use]
    pub fn id_ttl(&self) -> Span {
        remembered(self)
    }

    /// Why no store can do it, if that is so.
    #[must_use]
    pub fn validate(&self) -> Option<crate::StoreError> {
        self.flaw().map(crate::StoreError::malformed)
    }
}

/// What the limits say of the states that are left, each at the instant of the operation there: limits
/// may be counted in different places, by different clocks.
///
/// ```
/// use tollgate_core::{RemoteState, Limit, Span, Time, remote_decision};
///
/// let limit: Limit = "sliding-log 5/min".parse()?;
/// let (fits_at, resets) = (Span::ZERO, Span::from_micros(60_000_000));
/// let left = RemoteState::Counted { used: 2, fits_at, resets };
/// let decision = remote_decision(true, 1, [(limit.measure(), left, Time::EPOCH)]);
/// assert_eq!(decision.remaining, Some(3));
/// # Ok::<(), tollgate_core::LimitError>(())
/// ```
#[must_use]
pub fn remote_decision(
    allowed: bool,
    cost: u64,
    limits: impl IntoIterator<Item = (Capacity, RemoteState, Time)>,
) -> Decision {
    let mut decision = DecisionBuilder::new(allowed);
    for (measure, left, now) in limits {
        decision.add(answer(measure, left, now, cost));
    }
    decision.decision()
}

fn answer(measure: Capacity, left: RemoteState, now: Time, cost: u64) -> LimitStatus {
    let Some(capacity) = measure.whole() else { return LimitStatus::UNLIMITED };
    let (used, fits_at, resets) = match left {
        RemoteState::Packed(packed) => return packed.answer(measure, now, cost),
        RemoteState::Nothing => (0, now, now),
        RemoteState::Counted { used, fits_at, resets } => {
            (used, Time::EPOCH.after(fits_at), Time::EPOCH.after(resets))
        }
    };
    let room = capacity.saturating_sub(used);
    let fits = cost <= room && used <= capacity;
    let wait = if fits { Span::ZERO } else { fits_at.since(now) };
    LimitStatus {
        limit: Some(capacity),
        remaining: Some(room),
        retry_after: (cost <= capacity).then_some(wait),
        reset_after: resets.since(now),
    }
}
