//! The limit line: one algorithm with its numbers, parsed, checked and printed back.
//!
//! Text is parsed to a [`Line`] with its [`Spec`] ([`parse`]), or a spec is made by hand ([`typed`]).
//! Either way its numbers are checked ([`check`]) and become a rule ([`build`]), and it prints as one
//! canonical line ([`print`]).

mod bounds;
mod build;
mod check;
mod convert;
mod legacy;
mod line;
mod numbers;
mod packed;
mod parse;
mod period;
mod print;
mod spec;
mod typed;

pub use period::{Period, PeriodUnit};
pub use spec::{Algorithm, Edge, Rate, Spec, Zone};

use line::Line;

use std::fmt;
use std::mem::discriminant;
use std::str::FromStr;

use crate::decimal::Decimal;
use crate::error::LimitError;
use crate::rule::{Alignment, Capacity, Rule, RuleParams};
use crate::subject::Name;
use crate::time::{Span, Time};

/// One limit, such as `gcra 30/min burst 16`.
///
/// Its numbers are checked against their bounds when it is created, so that no operation on it can
/// overflow.
///
/// ```
/// use tollgate_core::Limit;
///
/// let limit: Limit = "token-bucket 100/s burst 200 per user".parse()?;
/// assert_eq!(limit.capacity(), Some(200));
/// assert_eq!(limit.to_string(), "token-bucket 100/s burst 200 per user");
///
/// let error = "tokn-bucket 100/s".parse::<Limit>().unwrap_err();
/// assert!(error.to_string().contains("did you mean \"token-bucket\"?"));
/// # Ok::<(), tollgate_core::LimitError>(())
/// ```
///
/// The same limits can be made without a line, by [`Limit::new`] and a constructor for each
/// algorithm.
#[derive(Debug, Clone, PartialEq)]
#[repr(C)]
pub struct Limit {
    /// The rule that follows from the line. It comes first, since every check reads it.
    rule: Rule,
    line: Line,
}

impl Limit {
    fn from_line(line: Line) -> Result<Limit, LimitError> {
        match line.rule() {
            Ok(rule) => Ok(Limit { line, rule }),
            Err(error) => Err(error.in_line(&line.to_string())),
        }
    }

    /// Returns the limit made `factor` times as tight: 2 halves it, 0.5 doubles it, 0 switches it
    /// off.
    ///
    /// ```
    /// use tollgate_core::Limit;
    ///
    /// let limit: Limit = "gcra 60/min burst 10".parse()?;
    /// let tighter = limit.scaled("2".parse().unwrap())?;
    /// assert_eq!(tighter.capacity(), Some(5));
    /// # Ok::<(), tollgate_core::LimitError>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the numbers would exceed their bounds.
    pub fn scaled(&self, factor: Decimal) -> Result<Limit, LimitError> {
        let in_line = |error: LimitError| error.in_line(&self.to_string());
        let product = self.line.factor.times(factor);
        let product = product.ok_or_else(|| in_line(bounds::invalid_factor(factor)))?;
        Limit::from_line(Line { factor: product, ..self.line.clone() }).map_err(in_line)
    }

    /// Returns the algorithm and its numbers as written, before the factor.
    #[must_use]
    pub fn spec(&self) -> &Spec {
        &self.line.spec
    }

    /// Returns its algorithm.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.line.spec.algorithm()
    }

    /// Returns the most that can be used at one instant, after the factor; `None` if unlimited.
    #[must_use]
    pub fn capacity(&self) -> Option<u64> {
        self.rule.capacity()
    }

    /// Returns the longest time a full key takes to reset; `None` if unlimited.
    #[must_use]
    pub fn full_reset_after(&self) -> Option<Span> {
        self.rule.full_reset_after()
    }

    /// Returns the minimum and maximum bytes of numbers that one used key needs, without what a
    /// store adds for the key. `None` if nothing is kept.
    #[must_use]
    pub fn state_bytes(&self) -> Option<(u64, u64)> {
        self.rule.state_bytes()
    }

    /// Returns the rate after the factor: the capacity for windows, what drains for buckets. `None`
    /// for algorithms without a rate.
    #[must_use]
    pub fn rate(&self) -> Option<Rate> {
        build::rate(&self.line.spec, self.line.factor, &self.rule)
    }

    /// Returns the width of a slot of `sliding-log` and `sliding-counters`; `None` for others.
    #[must_use]
    pub fn slot_width(&self) -> Option<Span> {
        match &self.rule {
            Rule::Slots(slots) => Some(slots.width()),
            _ => None,
        }
    }

    /// Returns the maximum level of `ar1`, after the factor, which need not be whole; `None` for
    /// others.
    #[must_use]
    pub fn max_level(&self) -> Option<f64> {
        match &self.rule {
            Rule::Fade(fade) => Some(fade.max()),
            _ => None,
        }
    }

    /// Returns size, drip and interval of a leaky bucket, after the factor; `None` for other rules.
    #[must_use]
    pub fn leak(&self) -> Option<(u64, u64, Span)> {
        match &self.rule {
            Rule::Drip(drip) => Some(drip.leak()),
            _ => None,
        }
    }

    /// Returns how many times as tight it is as written.
    #[must_use]
    pub fn factor(&self) -> Decimal {
        self.line.factor
    }

    /// Returns whether it gives leases: whether it limits concurrency.
    #[must_use]
    pub fn gives_leases(&self) -> bool {
        self.algorithm() == Algorithm::Concurrency
    }

    /// Returns whether denied attempts count too.
    #[must_use]
    pub fn counts_denied(&self) -> bool {
        self.line.count_denied
    }

    /// Returns the unit of cost that it takes; `None` for the plain cost.
    #[must_use]
    pub fn unit(&self) -> Option<&Name> {
        self.line.unit.as_ref()
    }

    /// Returns the name of the subject it counts; `None` for the nameless key.
    #[must_use]
    pub fn per(&self) -> Option<&Name> {
        self.line.per.as_ref()
    }

    /// Returns whether the state of `other` is kept if this limit replaces it in a policy: whether
    /// both have the same rule and count the same subject, whatever their numbers and their unit.
    #[must_use]
    pub fn keeps_state_of(&self, other: &Limit) -> bool {
        discriminant(self.rule()) == discriminant(other.rule()) && self.per() == other.per()
    }

    /// Returns the numbers it counts with, for a store that decides outside this process.
    #[must_use]
    pub fn params(&self) -> RuleParams {
        self.rule.params()
    }

    /// Returns whether another limit counts by the same rule with the same numbers. They may differ in their line,
    /// their subject and their unit.
    ///
    /// ```
    /// use tollgate_core::Limit;
    ///
    /// let limit: Limit = "gcra 60/min burst 5".parse()?;
    /// assert!(limit.has_numbers_of(&"gcra 1/s burst 5 of tokens".parse()?));
    /// assert!(!limit.has_numbers_of(&"gcra 1/s burst 6".parse()?));
    /// # Ok::<(), tollgate_core::LimitError>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn has_numbers_of(&self, other: &Limit) -> bool {
        self.rule == other.rule && self.counts_denied() == other.counts_denied()
    }

    /// Returns the exact capacity, after the factor. With a state it is all that
    /// [`remote_decision`](crate::remote::remote_decision) needs.
    #[must_use]
    pub fn exact_capacity(&self) -> Capacity {
        self.rule.exact_capacity()
    }

    /// Returns the bounds of three adjacent windows of the calendar, the middle one containing
    /// `at`; `None` if the limit does not count by the calendar. A remote store that knows no
    /// calendar can choose among them by its own time.
    #[must_use]
    pub fn windows_around(&self, at: Time) -> Option<[Time; 4]> {
        let Rule::Window(rule) = &self.rule else { return None };
        let Alignment::Calendar(calendar) = rule.alignment() else { return None };
        let (start, end) = calendar.bounds_at(at);
        let before = Time::at(start.as_micros().saturating_sub(1));
        Some([calendar.bounds_at(before).0, start, end, calendar.bounds_at(end).1])
    }

    pub(crate) fn rule(&self) -> &Rule {
        &self.rule
    }
}

impl FromStr for Limit {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Limit, LimitError> {
        let limit = || {
            let (line, words) = parse::parse(text)?;
            Limit::from_line(line).map_err(|error| words.locate(error))
        };
        limit().map_err(|error| error.in_line(text))
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.line.fmt(f)
    }
}
