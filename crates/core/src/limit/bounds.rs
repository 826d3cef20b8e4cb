//! The bounds of a limit's numbers. Nothing is silently clamped: what lies beyond is refused.

use std::fmt::Display;

use super::period::Printed;
use crate::decimal::Decimal;
use crate::error::LimitError;
use crate::rule::{Counting, Drip};
use crate::time::Span;

/// The longest window: two of them must not be longer than anything may take to drain.
const MAX_WINDOW: Span = Span::from_micros(Span::MAX.as_micros() / 2);
/// The greatest `max` of ar1: at a millionth of it a level counts as nothing, and a cost of one
/// must never be nothing.
pub(super) const MAX_FADE: u32 = 1_000_000;
/// The greatest factor; beyond it a typing mistake is likelier than a wish.
pub(super) const MAX_FACTOR: u32 = 1_000_000;
pub(super) const MILLISECOND: Span = Span::from_micros(1_000);

pub(super) type LimitResult<T> = Result<T, LimitError>;

pub(super) fn bad_factor(factor: Decimal) -> LimitError {
    LimitError::new(
        "factor",
        factor,
        format_args!("a decimal from 0 to {MAX_FACTOR} that keeps the limit within its bounds"),
    )
}

pub(super) fn plain(length: Span) -> String {
    Printed { length, bare: false }.to_string()
}

pub(super) fn within(
    length: Span,
    most: Span,
    field: &str,
    value: impl Display,
    accepted: &str,
) -> LimitResult<()> {
    if length > most { Err(LimitError::new(field, value, accepted)) } else { Ok(()) }
}

pub(super) fn window(length: Span) -> LimitResult<Span> {
    let accepted = "a window of at most 2^50 µs (35 years), so that two are at most 2^51";
    within(length, MAX_WINDOW, "period", plain(length), accepted).map(|()| length)
}

pub(super) fn bucket(size: u64, drip: u64, every: Span, field: &str) -> LimitResult<Drip> {
    let accepted = "a bucket that drains within 2^51 µs (71 years): ceil(size / drip) * every";
    let bucket = Drip::new(size, drip, every);
    within(bucket.full_reset_after(), Span::MAX, field, size, accepted).map(|()| bucket)
}
