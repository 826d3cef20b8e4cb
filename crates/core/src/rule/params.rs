//! The numbers a limit counts with, as a store outside this process needs them.

use crate::time::Span;

/// The numbers a limit counts with, after its factor.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum RuleParams {
    /// A bucket that drains evenly; one unit drains in `ticks / parts` microseconds, in lowest
    /// terms.
    Flow {
        /// Size of the bucket.
        capacity: u64,
        /// Numerator of the microseconds per unit.
        ticks: u64,
        /// Denominator of the microseconds per unit.
        parts: u64,
    },
    /// A bucket that leaks at regular intervals.
    Drip {
        /// Size of the bucket.
        size: u64,
        /// How much leaks at once.
        drip: u64,
        /// Interval between leaks.
        every: Span,
    },
    /// Windows of equal length, back to back from the epoch.
    Aligned {
        /// Maximum cost in each window.
        capacity: u64,
        /// Length of a window.
        window: Span,
    },
    /// Windows of the calendar; see [`LimitParams::windows_around`](crate::remote::LimitParams::windows_around).
    Calendar {
        /// Maximum cost in each window.
        capacity: u64,
    },
    /// Windows that open with the first request.
    Request {
        /// Maximum cost in each window.
        capacity: u64,
        /// Length of a window.
        window: Span,
    },
    /// A count for each slot of time.
    Slots {
        /// Maximum cost in all slots that count.
        capacity: u64,
        /// Width of a slot.
        width: Span,
        /// How long a slot counts, from its start.
        life: Span,
    },
    /// The counts of this window and the one before, as an estimate.
    Estimate {
        /// Maximum estimated cost.
        capacity: u64,
        /// Length of a window.
        window: Span,
    },
    /// A level that decays exponentially.
    Fade {
        /// Maximum level.
        max: f64,
        /// What the level is divided by at every step.
        decay: f64,
        /// Length of a step.
        resolution: Span,
        /// A level below this counts as zero.
        floor: f64,
    },
    /// Leases.
    Held {
        /// Maximum number of leases at once.
        capacity: u64,
        /// How long a lease lasts.
        ttl: Span,
    },
    /// Nothing is counted.
    Unlimited,
}
