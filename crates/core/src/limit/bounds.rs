//! The bounds of a limit's numbers. Nothing is silently clamped: numbers out of bounds are
//! rejected.

use std::fmt::Display;

use super::period::Printed;
use crate::decimal::Decimal;
use crate::error::LimitError;
use crate::rule::{Counting, Drip, MAX_ENTRIES};
use crate::time::Span;

/// Maximum length of a window. Two windows must not exceed the longest time a state may take to
/// drain.
const MAX_WINDOW: Span = Span::from_micros(Span::MAX.as_micros() / 2);
/// Maximum `max` of ar1. A level below a millionth of `max` counts as zero, and a cost of one must
/// never count as zero.
pub(super) const MAX_FADE: u32 = 1_000_000;
/// Maximum factor. Anything above is more likely a typo than intended.
pub(super) const MAX_FACTOR: u32 = 1_000_000;
pub(super) const MILLISECOND: Span = Span::from_micros(1_000);

pub(super) type LimitResult<T> = Result<T, LimitError>;

pub(super) fn invalid_factor(factor: Decimal) -> LimitError {
    LimitError::new(
        "factor",
        factor,
        format_args!("a decimal from 0 to {MAX_FACTOR} that keeps the limit within its bounds"),
    )
}

pub(super) fn length_text(length: Span) -> String {
    Printed { length, bare: false }.to_string()
}

/// Fails with an error about `field` if `length` exceeds `max`.
pub(super) fn check_length(
    length: Span,
    max: Span,
    field: &str,
    value: impl Display,
    expected: &str,
) -> LimitResult<()> {
    if length > max { Err(LimitError::new(field, value, expected)) } else { Ok(()) }
}

/// The error of sliding counters with too many slots.
pub(super) fn too_many_slots(width: Span) -> LimitError {
    let expected =
        format_args!("a resolution that divides the window into fewer than {MAX_ENTRIES} slots");
    LimitError::new("resolution", length_text(width), expected)
}

pub(super) fn window(length: Span) -> LimitResult<Span> {
    let expected = "a window of at most 2^50 µs (35 years), so that two are at most 2^51";
    check_length(length, MAX_WINDOW, "period", length_text(length), expected).map(|()| length)
}

/// Builds a bucket. An error is about `field`, which has this value.
pub(super) fn bucket(
    size: u64,
    drip: u64,
    every: Span,
    (field, value): (&str, impl Display),
) -> LimitResult<Drip> {
    let expected = "a bucket that drains within 2^51 µs (71 years): ceil(size / drip) * every";
    let bucket = Drip::new(size, drip, every);
    check_length(bucket.full_reset_after(), Span::MAX, field, value, expected).map(|()| bucket)
}
