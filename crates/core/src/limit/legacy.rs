//! `legacy`: limits written for Misskey's old limiter, turned into a leaking bucket that is never
//! looser than they were meant to be.

use super::bounds::{self, LimitResult, MILLISECOND, bad_factor};
use crate::decimal::Decimal;
use crate::error::LimitError;
use crate::rule::Rule;
use crate::time::Span;

/// Halves up; dividing by zero gives zero.
fn rounded(above: u64, below: u64) -> u64 {
    let twice = above.saturating_mul(2).saturating_add(below);
    twice.checked_div(below.saturating_mul(2)).unwrap_or(0)
}

/// The bucket: size, drip, and the interval in milliseconds. `None` is unlimited.
type Bucket = Option<(u64, u64, u64)>;

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

/// The rule of a legacy limit. Its interval stays in whole milliseconds whatever the factor.
pub(super) fn rule(
    max: Option<u32>,
    duration: Option<Span>,
    min_interval: Option<Span>,
    factor: Decimal,
) -> LimitResult<Rule> {
    let ms = |span: Span| span.steps(MILLISECOND);
    let Some(bucket) = bucket(max, duration.map(ms), min_interval.map(ms)) else {
        let accepted = "\"max\" and \"duration\" together, or \"min-interval\" alone";
        return Err(LimitError::new("what legacy counts", "", accepted));
    };
    let Some((size, drip, every)) = bucket else {
        return Ok(Rule::Unlimited);
    };
    let scaled = factor.divides_up(size).zip(factor.multiplies_up(every));
    let (size, every) = scaled.ok_or_else(|| bad_factor(factor))?;
    bounds::bucket(size.max(1), drip, MILLISECOND.times(every.max(1)), "duration").map(Rule::Drip)
}
