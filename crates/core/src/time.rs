//! Instants and lengths of time, in ticks of one microsecond.
//!
//! Nothing here reads a clock: time is always an argument, so every decision is reproducible.

use std::fmt;
use std::time::Duration;

/// An instant: microseconds since the Unix epoch.
///
/// ```
/// use tollgate_core::{Span, Time};
///
/// let noon = Time::from_micros(1_700_000_000_000_000).unwrap();
/// let later = noon.checked_add(Span::from_micros(5)).unwrap();
/// assert_eq!(later.since(noon), Span::from_micros(5));
/// assert_eq!(Time::from_micros(u64::MAX), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

impl Time {
    /// The Unix epoch: 1970-01-01T00:00:00Z.
    pub const EPOCH: Time = Time(0);
    /// The last instant an operation can have, in the year 2112.
    ///
    /// An instant plus the longest wait stays below 2^53, which a double holds exactly: the Redis
    /// scripts count in doubles.
    pub const MAX: Time = Time((1 << 52) - 1);

    /// Creates an instant from microseconds since the epoch; `None` after [`Time::MAX`].
    #[must_use]
    pub const fn from_micros(micros: u64) -> Option<Time> {
        if micros > Time::MAX.0 { None } else { Some(Time(micros)) }
    }

    /// Creates an instant of a state, which may lie after [`Time::MAX`].
    pub(crate) const fn at(micros: u64) -> Time {
        Time(micros)
    }

    /// Returns the microseconds since the epoch.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Returns the instant `span` later, or `None` after [`Time::MAX`].
    #[must_use]
    pub const fn checked_add(self, span: Span) -> Option<Time> {
        Time::from_micros(self.0.saturating_add(span.0))
    }

    /// Returns the instant `span` later, which may lie after [`Time::MAX`] in a state.
    pub(crate) const fn after(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }

    /// Returns the time since `earlier`, or zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// Rounds down to a multiple of `step`. A step of zero counts as one.
    pub(crate) const fn floor_to(self, step: Span) -> Time {
        match self.0.checked_rem(step.0) {
            Some(past) => Time(self.0.saturating_sub(past)),
            None => self,
        }
    }
}

/// A length of time, in microseconds.
///
/// ```
/// use tollgate_core::Span;
///
/// let wait = Span::from_micros(17_142_858);
/// assert_eq!(wait.to_string(), "17s 143ms");
/// assert_eq!(wait.as_secs_ceil(), 18);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

impl Span {
    /// Zero length.
    pub const ZERO: Span = Span(0);
    /// The longest time a state may take to drain: 71 years.
    pub const MAX: Span = Span(1 << 51);

    /// Creates a length of time from microseconds.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Span {
        Span(micros)
    }

    /// Returns the microseconds.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Returns whole seconds, rounded up so that a client that waits this long has waited enough.
    #[must_use]
    pub const fn as_secs_ceil(self) -> u64 {
        self.0.div_ceil(1_000_000)
    }

    pub(crate) const fn plus(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }

    pub(crate) const fn times(self, count: u64) -> Span {
        Span(self.0.saturating_mul(count))
    }

    /// Returns how many whole `step`s fit in; zero if the step is zero.
    #[inline]
    pub(crate) const fn steps(self, step: Span) -> u64 {
        // A division takes as long as the rest of a check.
        if self.0 < step.0 {
            return 0;
        }
        match self.0.checked_div(step.0) {
            Some(steps) => steps,
            None => 0,
        }
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Duration {
        Duration::from_micros(span.0)
    }
}

/// The units that a wait is displayed in, longest first.
const DISPLAY_UNITS: [(&str, u64); 6] = [
    ("d", 86_400_000_000),
    ("h", 3_600_000_000),
    ("min", 60_000_000),
    ("s", 1_000_000),
    ("ms", 1_000),
    ("µs", 1),
];

impl fmt::Display for Span {
    /// Writes the two largest units, rounded up so that a client that waits this long has waited
    /// enough.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = |(_, ticks): &(&str, u64)| *ticks <= self.0;
        let Some(largest) = DISPLAY_UNITS.iter().position(fits) else {
            return f.write_str("0s");
        };
        let second = DISPLAY_UNITS.get(largest.saturating_add(1)).map_or(1, |(_, ticks)| *ticks);
        let rounded = self.0.div_ceil(second.max(1)).saturating_mul(second);
        let mut rest = rounded;
        let mut space = "";
        for (unit, ticks) in DISPLAY_UNITS {
            let count = rest.checked_div(ticks).unwrap_or(0);
            if count > 0 {
                write!(f, "{space}{count}{unit}")?;
                (rest, space) = (rest.checked_rem(ticks).unwrap_or(0), " ");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_display_their_two_largest_units() {
        for (micros, displayed) in [
            (0, "0s"),
            (1, "1µs"),
            (2_500, "2ms 500µs"),
            (1_000_000, "1s"),
            (90_000_000, "1min 30s"),
            (3_600_000_001, "1h 1min"),
            (17_142_858, "17s 143ms"),
            (59_999_999, "1min"),
            (86_400_000_000 * 8, "8d"),
        ] {
            assert_eq!(Span::from_micros(micros).to_string(), displayed);
        }
    }

    #[test]
    fn seconds_round_up() {
        for (micros, secs) in [(0, 0), (1, 1), (400, 1), (1_000_000, 1), (1_000_001, 2)] {
            assert_eq!(Span::from_micros(micros).as_secs_ceil(), secs);
        }
    }
}
