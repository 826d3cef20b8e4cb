//! Integers wide enough that no product of a limit's numbers can overflow.
//!
//! By the bounds of a limit the largest is below 2^117, so nothing here ever saturates. The type
//! does all the same, so that no mistake could make arithmetic panic or wrap around.

use std::num::Saturating;

/// An intermediate result.
pub(crate) type Wide = Saturating<u128>;

#[inline]
pub(crate) fn wide(value: u64) -> Wide {
    Saturating(u128::from(value))
}

/// The exact product of two numbers; it always fits.
#[inline]
pub(crate) fn product(a: u64, b: u64) -> Wide {
    Saturating(u128::from(a).wrapping_mul(u128::from(b)))
}

/// Back to 64 bits; the greatest there is if it does not fit.
#[inline]
pub(crate) fn narrow(value: Wide) -> u64 {
    u64::try_from(value.0).unwrap_or(u64::MAX)
}

/// Rounded down. Dividing by zero gives the greatest value.
#[inline]
pub(crate) fn floor_div(above: Wide, below: Wide) -> Wide {
    match short(above, below) {
        Some((above, below)) => above.checked_div(below).map_or(Saturating(u128::MAX), wide),
        None => Saturating(above.0.checked_div(below.0).unwrap_or(u128::MAX)),
    }
}

/// Rounded up. Dividing by zero gives the greatest value.
#[inline]
pub(crate) fn ceil_div(above: Wide, below: Wide) -> Wide {
    match short(above, below) {
        _ if below.0 == 0 => Saturating(u128::MAX),
        Some((above, below)) => wide(above.div_ceil(below)),
        None => Saturating(above.0.div_ceil(below.0)),
    }
}

/// Both as 64 bits, which is what nearly all of them are: the processor divides those by itself.
#[inline]
fn short(above: Wide, below: Wide) -> Option<(u64, u64)> {
    u64::try_from(above.0).ok().zip(u64::try_from(below.0).ok())
}

/// `ceil(a * b / c)` where `a * b` may be wider than 128 bits.
pub(crate) fn mul_div_up(a: Wide, b: Wide, c: Wide) -> Wide {
    let whole = floor_div(a, c);
    let rest = a - whole * c;
    whole * b + ceil_div(rest * b, c)
}

pub(crate) fn ten_to(power: u32) -> Wide {
    Saturating(10_u128.checked_pow(power).unwrap_or(u128::MAX))
}

pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    match a.checked_rem(b) {
        None => a,
        Some(rest) => gcd(b, rest),
    }
}
