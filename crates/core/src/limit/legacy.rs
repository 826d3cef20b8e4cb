//! `legacy`: limits written for Misskey's old limiter, converted to a leaky bucket that is never
//! looser than intended.

use super::bounds::{self, LimitResult, MILLISECOND, invalid_factor, length_text};
use crate::decimal::Decimal;
use crate::error::LimitError;
use crate::rule::Rule;
use crate::time::Span;

/// Divides and rounds halves up. Dividing by zero gives zero.
fn rounded(numerator: u64, denominator: u64) -> u64 {
    let twice = numerator.saturating_mul(2).saturating_add(denominator);
    twice.checked_div(denominator.saturating_mul(2)).unwrap_or(0)
}

/// Size, drip, and the interval in milliseconds. `None` is unlimited.
type Bucket = Option<(u64, u64, u64)>;

/// Returns the bucket; `None` if the combination of numbers is invalid.
fn bucket(max: Option<u32>, duration: Option<u64>, interval: Option<u64>) -> Option<Bucket> {
    match (max.map(u64::from), duration, interval) {
        (Some(_), Some(0), _) | (None, None, Some(0)) => Some(None),
        (Some(max), Some(duration), interval) => {
            let given = interval.filter(|interval| *interval > 0);
            let first = given.unwrap_or_else(|| rounded(duration, max)).max(1);
            let drip = rounded(max.saturating_mul(first), duration).max(1);
            let every = rounded(duration.saturating_mul(drip), max).max(1);
            Some(Some((max, drip, every)))
        }
        (None, None, Some(interval)) => Some(Some((1, 1, interval))),
        _ => None,
    }
}

/// Builds the rule of a legacy limit. Its interval stays in whole milliseconds whatever the factor.
pub(super) fn rule(
    max: Option<u32>,
    duration: Option<Span>,
    min_interval: Option<Span>,
    factor: Decimal,
) -> LimitResult<Rule> {
    let ms = |span: Span| span.steps(MILLISECOND);
    let Some(bucket) = bucket(max, duration.map(ms), min_interval.map(ms)) else {
        let expected = "\"max\" and \"duration\" together, or \"min-interval\" alone";
        return Err(LimitError::new("a parameter of legacy", "", expected));
    };
    let Some((size, drip, every)) = bucket else {
        return Ok(Rule::Unlimited);
    };
    let scaled = factor.ceil_div_of(size).zip(factor.ceil_mul(every));
    let (size, every) = scaled.ok_or_else(|| invalid_factor(factor))?;
    let duration = duration.map(|length| ("duration", length_text(length)));
    let interval = min_interval.map(|length| ("min-interval", length_text(length)));
    let longest = duration.or(interval).unwrap_or_default();
    bounds::bucket(size.max(1), drip, MILLISECOND.times(every.max(1)), longest).map(Rule::Drip)
}
