//! Integers wide enough that no product of a limit's numbers can overflow.
//!
//! The bounds of a limit keep the largest product below 2^117, so nothing here ever saturates. The
//! type saturates all the same, so that a bug could make arithmetic neither panic nor wrap around.

use std::num::Saturating;

/// An intermediate result of 128 bits.
pub(crate) type Wide = Saturating<u128>;

#[inline]
pub(crate) fn wide(value: u64) -> Wide {
    Saturating(u128::from(value))
}

/// Returns the exact product of two numbers, which always fits.
#[inline]
pub(crate) fn product(a: u64, b: u64) -> Wide {
    Saturating(u128::from(a).wrapping_mul(u128::from(b)))
}

/// Converts to 64 bits, or to `u64::MAX` if the value does not fit.
#[inline]
pub(crate) fn narrow(value: Wide) -> u64 {
    u64::try_from(value.0).unwrap_or(u64::MAX)
}

/// Divides and rounds down. Dividing by zero gives the greatest value.
#[inline]
pub(crate) fn floor_div(numerator: Wide, denominator: Wide) -> Wide {
    match both_narrow(numerator, denominator) {
        Some((n, d)) => n.checked_div(d).map_or(Saturating(u128::MAX), wide),
        None => Saturating(numerator.0.checked_div(denominator.0).unwrap_or(u128::MAX)),
    }
}

/// Divides and rounds up. Dividing by zero gives the greatest value.
#[inline]
pub(crate) fn ceil_div(numerator: Wide, denominator: Wide) -> Wide {
    match both_narrow(numerator, denominator) {
        _ if denominator.0 == 0 => Saturating(u128::MAX),
        Some((n, d)) => wide(n.div_ceil(d)),
        None => Saturating(numerator.0.div_ceil(denominator.0)),
    }
}

/// Returns both in 64 bits if they fit, as nearly all do: the processor has an instruction for that
/// division.
#[inline]
fn both_narrow(a: Wide, b: Wide) -> Option<(u64, u64)> {
    u64::try_from(a.0).ok().zip(u64::try_from(b.0).ok())
}

/// Returns `ceil(a * b / c)`, where `a * b` may be wider than 128 bits.
pub(crate) fn mul_div_up(a: Wide, b: Wide, c: Wide) -> Wide {
    let whole = floor_div(a, c);
    let rest = a - whole * c;
    whole * b + ceil_div(rest * b, c)
}

pub(crate) fn power_of_ten(exponent: u32) -> Wide {
    Saturating(10_u128.checked_pow(exponent).unwrap_or(u128::MAX))
}

pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    match a.checked_rem(b) {
        None => a,
        Some(rest) => gcd(b, rest),
    }
}
