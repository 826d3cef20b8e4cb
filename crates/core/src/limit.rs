//! The limit line: one algorithm with its numbers, parsed, checked and printed back.
//!
//! Text becomes a [`Spec`] (what was written, [`parse`]), the spec and its factor become a rule
//! with checked numbers ([`build`]), and a spec prints as one canonical line ([`print`]).

mod bounds;
mod build;
mod legacy;
mod packed;
mod parse;
mod period;
mod print;
mod spec;

pub use period::{Period, Unit};
pub use spec::{Algorithm, Edge, Rate, Spec, Zone};

use std::fmt;
use std::mem::discriminant;
use std::str::FromStr;

use crate::decimal::Decimal;
use crate::error::LimitError;
use crate::rule::Rule;
use crate::subject::Name;
use crate::time::Span;

/// One limit: `gcra 30/min burst 16`.
///
/// Its numbers are within their bounds by construction, so nothing that is asked of a limit can
/// overflow.
///
/// ```
/// use tollgate_core::Limit;
///
/// let limit: Limit = "token-bucket 100/s burst 200 per user".parse()?;
/// assert_eq!(limit.capacity(), Some(200));
/// assert_eq!(limit.to_string(), "token-bucket 100/s burst 200 per user");
///
/// let mistake = "tokn-bucket 100/s".parse::<Limit>().unwrap_err();
/// assert!(mistake.to_string().contains("did you mean \"token-bucket\"?"));
/// # Ok::<(), tollgate_core::LimitError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    spec: Spec,
    factor: Decimal,
    count_denied: bool,
    per: Option<Name>,
    /// What spec and factor come to.
    rule: Rule,
}

impl Limit {
    fn new(
        spec: Spec,
        factor: Decimal,
        count_denied: bool,
        per: Option<Name>,
    ) -> Result<Limit, LimitError> {
        if count_denied && matches!(spec, Spec::SlidingLog { .. }) {
            let accepted = "no such word after sliding-log, which denied attempts would make grow; \
                            sliding-counters takes it";
            return Err(LimitError::new("word", "count-denied", accepted));
        }
        let rule = build::rule(&spec, factor)?;
        Ok(Limit { spec, factor, count_denied, per, rule })
    }

    /// The same limit, `factor` times as tight: 2 halves it, 0.5 doubles it, 0 switches it off.
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
    /// If the numbers would leave their bounds.
    pub fn scaled(&self, factor: Decimal) -> Result<Limit, LimitError> {
        let told = |e: LimitError| e.in_line(&self.to_string());
        let product = self.factor.times(factor).ok_or_else(|| told(bounds::bad_factor(factor)))?;
        Limit::new(self.spec.clone(), product, self.count_denied, self.per.clone()).map_err(told)
    }

    /// What was written.
    #[must_use]
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The name it goes by.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.spec.algorithm()
    }

    /// The most that can be used at one instant, after the factor; `None` if unlimited.
    #[must_use]
    pub fn capacity(&self) -> Option<u64> {
        self.rule.capacity()
    }

    /// How long a full key takes to reset, at most; `None` if unlimited.
    #[must_use]
    pub fn full_reset_after(&self) -> Option<Span> {
        self.rule.full_reset_after()
    }

    /// The least and the most bytes of numbers that one used key needs; a store adds its own for
    /// the key. `None` if nothing is kept.
    #[must_use]
    pub fn state_bytes(&self) -> Option<(u64, u64)> {
        self.rule.state_bytes()
    }

    /// What flows in how long, after the factor: as much as fits for windows, what drains for
    /// buckets. `None` for what has no rate.
    #[must_use]
    pub fn rate(&self) -> Option<Rate> {
        build::rate(&self.spec, self.factor, &self.rule)
    }

    /// The width of a slot of `sliding-log` and `sliding-counters`; `None` for others.
    #[must_use]
    pub fn slot_width(&self) -> Option<Span> {
        match &self.rule {
            Rule::Slots(slots) => Some(slots.width()),
            _ => None,
        }
    }

    /// The greatest level of `ar1`, after the factor, which need not be whole; `None` for others.
    #[must_use]
    pub fn max_level(&self) -> Option<f64> {
        match &self.rule {
            Rule::Fade(fade) => Some(fade.max()),
            _ => None,
        }
    }

    /// Size, drip and interval of a leaking bucket, after the factor; `None` for other rules.
    #[must_use]
    pub fn leak(&self) -> Option<(u64, u64, Span)> {
        match &self.rule {
            Rule::Drip(drip) => Some(drip.params()),
            _ => None,
        }
    }

    /// How many times as tight it is as written.
    #[must_use]
    pub fn factor(&self) -> Decimal {
        self.factor
    }

    /// Whether denied attempts count too.
    #[must_use]
    pub fn counts_denied(&self) -> bool {
        self.count_denied
    }

    /// Which kind of subject it counts; `None` for the nameless key.
    #[must_use]
    pub fn per(&self) -> Option<&Name> {
        self.per.as_ref()
    }

    /// Whether what was counted for another limit counts for this one, if it takes its place in a
    /// policy: they go by the same rule and count the same kind of subject, whatever their numbers.
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

    fn from_str(line: &str) -> Result<Limit, LimitError> {
        parse::limit(line).map_err(|error| error.in_line(line))
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print::spec(&self.spec, f)?;
        if self.count_denied {
            f.write_str(" count-denied")?;
        }
        if self.factor != Decimal::ONE {
            write!(f, " factor {}", self.factor)?;
        }
        match &self.per {
            Some(name) => write!(f, " per {name}"),
            None => Ok(()),
        }
    }
}
