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
pub(crate) mod params;
mod parse;
mod period;
mod print;
mod spec;
pub(crate) mod storage;
mod typed;

pub use period::{Period, PeriodUnit};
pub use spec::{Algorithm, Edge, Rate, Spec, Zone};

use line::Line;

use std::fmt;
use std::mem::discriminant;
use std::str::FromStr;

use crate::decimal::Decimal;
use crate::error::LimitError;
use crate::rule::Rule;
use crate::subject::Name;
use crate::time::Span;

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
