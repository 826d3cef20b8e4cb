//! Checks each number of a spec alone, whether the spec was parsed or made by hand. What the
//! numbers must satisfy together is checked as the rule is [built](super::build).

use super::bounds::{LimitResult, MILLISECOND, length_text};
use super::period::Period;
use super::spec::{Rate, Spec, Zone};
use crate::error::LimitError;
use crate::time::Span;

/// What error messages say a length of time may be.
pub(super) const LENGTH: &str = "a length of time: a unit (us, ms, s, min, h, day, week) or a \
                                 positive whole number and a unit, such as 10min";

/// Fails if one of the numbers can be in no limit.
pub(super) fn spec(spec: &Spec) -> LimitResult<()> {
    match spec {
        Spec::Gcra { rate: of, burst } | Spec::TokenBucket { rate: of, burst, .. } => {
            rate(*of)?;
            count("burst", *burst)
        }
        Spec::LeakyBucket { size, drip, every } => {
            count("size", *size)?;
            count("drip", *drip)?;
            length("every", *every)
        }
        Spec::Legacy { max, duration, min_interval } => {
            max.map_or(Ok(()), |max| count("max", max))?;
            duration.map_or(Ok(()), |duration| milliseconds("duration", duration))?;
            min_interval.map_or(Ok(()), |interval| milliseconds("min-interval", interval))
        }
        Spec::FixedWindow { count: of, period, zone } => {
            fixed_window(*period, zone)?;
            count("count", *of)
        }
        Spec::RequestWindow { rate: of }
        | Spec::SlidingLog { rate: of }
        | Spec::SlidingWindow { rate: of } => rate(*of),
        Spec::SlidingCounters { rate: of, resolution, .. } => {
            rate(*of)?;
            resolution.map_or(Ok(()), |resolution| length("resolution", resolution))
        }
        Spec::Ar1 { resolution, .. } => length("resolution", *resolution),
        Spec::Concurrency { leases, ttl } => {
            count("leases", *leases)?;
            length("ttl", *ttl)
        }
        Spec::Unlimited => Ok(()),
    }
}

fn rate(rate: Rate) -> LimitResult<()> {
    count("count", rate.count)?;
    length("period", rate.period)
}

fn fixed_window(period: Period, zone: &Zone) -> LimitResult<()> {
    match period {
        Period::Length(of) if zone.is_utc() => length("period", of),
        Period::Length(_) => Err(no_zone(&zone.to_string())),
        Period::Calendar(_) => Ok(()),
    }
}

fn count(field: &str, count: u32) -> LimitResult<()> {
    if count == 0 { Err(invalid_count(field, "0")) } else { Ok(()) }
}

fn length(field: &str, length: Span) -> LimitResult<()> {
    if length > Span::ZERO {
        return Ok(());
    }
    Err(LimitError::new(field, length_text(length), LENGTH))
}

/// Zero milliseconds have a meaning.
fn milliseconds(field: &str, length: Span) -> LimitResult<()> {
    if length.as_micros().is_multiple_of(MILLISECOND.as_micros()) {
        return Ok(());
    }
    let expected = "whole milliseconds or a longer unit, such as 500ms or 5s";
    Err(LimitError::new(field, length_text(length), expected))
}

pub(super) fn invalid_count(field: &str, value: &str) -> LimitError {
    LimitError::new(field, value, format_args!("a whole number from 1 to {}", u32::MAX))
}

pub(super) fn no_zone(value: &str) -> LimitError {
    let expected = "no time zone: only the bare units day, week, month and year take one";
    LimitError::new("tz", value, expected)
}
