//! Exact decimal numbers: `1.2` is twelve tenths, not the nearest double.

use std::fmt;
use std::num::Saturating;

use crate::wide::{self, Wide};

/// Maximum number of decimal places.
pub(crate) const MAX_DECIMALS: u32 = 9;

/// Maximum number of digits before the point.
const MAX_WHOLE_DIGITS: usize = 18;

/// A non-negative decimal number with up to 9 decimal places.
///
/// ```
/// use tollgate_core::Decimal;
///
/// let tenth: Decimal = "0.10".parse().unwrap();
/// assert_eq!(tenth.to_string(), "0.1");
/// assert!("-1".parse::<Decimal>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Decimal {
    digits: u128,
    /// How many of the digits are after the point.
    decimals: u32,
}

/// The error for text that is not a [`Decimal`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseDecimalError(());

impl fmt::Display for ParseDecimalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = MAX_DECIMALS;
        write!(f, "expected a non-negative decimal with at most {most} decimal places, such as 0.5")
    }
}

impl std::error::Error for ParseDecimalError {}

impl Decimal {
    /// One, the neutral factor.
    pub const ONE: Decimal = Decimal { digits: 1, decimals: 0 };

    fn reduced(mut self) -> Decimal {
        while self.decimals > 0 && self.digits.is_multiple_of(10) {
            self.digits = self.digits.checked_div(10).unwrap_or(0);
            self.decimals = self.decimals.saturating_sub(1);
        }
        self
    }

    /// Returns the power of ten that the digits are divided by.
    fn scale(self) -> Wide {
        wide::power_of_ten(self.decimals)
    }

    pub(crate) fn is_zero(self) -> bool {
        self.digits == 0
    }

    /// Returns the exact product; `None` if it has too many digits.
    pub(crate) fn times(self, other: Decimal) -> Option<Decimal> {
        let digits = self.digits.checked_mul(other.digits)?;
        let decimals = self.decimals.saturating_add(other.decimals);
        let product = Decimal { digits, decimals }.reduced();
        (product.decimals <= MAX_DECIMALS).then_some(product)
    }

    /// Returns `ceil(whole / self)`; `None` if `self` is zero or the result does not fit.
    pub(crate) fn ceil_div_of(self, whole: u64) -> Option<u64> {
        if self.is_zero() {
            return None;
        }
        let scaled = u128::from(whole).checked_mul(self.scale().0)?;
        u64::try_from(scaled.div_ceil(self.digits)).ok()
    }

    /// Returns `ceil(whole * self)`; `None` if the result does not fit.
    pub(crate) fn ceil_mul(self, whole: u64) -> Option<u64> {
        let scaled = u128::from(whole).checked_mul(self.digits)?;
        u64::try_from(scaled.div_ceil(self.scale().0)).ok()
    }

    /// Returns `self / other` as the nearest double; `None` if `other` is zero or the intermediate
    /// products overflow.
    pub(crate) fn ratio(self, other: Decimal) -> Option<f64> {
        let numerator = self.digits.checked_mul(other.scale().0)?;
        let denominator = other.digits.checked_mul(self.scale().0)?;
        if denominator == 0 { None } else { Some(nearest_double(numerator, denominator)) }
    }

    /// Returns the nearest double.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        nearest_double(self.digits, self.scale().0)
    }

    pub(crate) fn is_at_least(self, other: Decimal) -> bool {
        let (left, right) = (Saturating(self.digits), Saturating(other.digits));
        left * other.scale() >= right * self.scale()
    }
}

/// Returns `numerator / denominator`, rounded once. Dividing two rounded doubles would round three
/// times.
///
/// This is long division, one bit at a time, until there are more bits than a double holds. The
/// last bit is sticky: it stands for all that would follow.
#[expect(clippy::cast_precision_loss, reason = "the cast is the one rounding")]
fn nearest_double(numerator: u128, denominator: u128) -> f64 {
    const BITS: u32 = 64;
    let mut quotient = numerator.checked_div(denominator).unwrap_or(0);
    let mut rest = numerator.checked_rem(denominator).unwrap_or(0);
    let mut scale = 1.0_f64;
    while rest > 0 && quotient.checked_ilog2().is_none_or(|bits| bits < BITS) {
        rest = rest.saturating_mul(2);
        let bit = u128::from(rest >= denominator);
        rest = rest.saturating_sub(denominator.saturating_mul(bit));
        quotient = quotient.saturating_mul(2) | bit;
        scale *= 2.0;
    }
    (quotient | u128::from(rest > 0)) as f64 / scale
}

impl From<u32> for Decimal {
    fn from(whole: u32) -> Decimal {
        Decimal { digits: u128::from(whole), decimals: 0 }
    }
}

impl std::str::FromStr for Decimal {
    type Err = ParseDecimalError;

    fn from_str(text: &str) -> Result<Decimal, ParseDecimalError> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let all_digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        let places = fraction.trim_end_matches('0');
        let decimals = u32::try_from(places.len()).unwrap_or(u32::MAX);
        let fits = decimals <= MAX_DECIMALS && whole.len() <= MAX_WHOLE_DIGITS;
        if !all_digits(whole) || !all_digits(fraction) || !fits {
            return Err(ParseDecimalError(()));
        }
        let digits = format!("{whole}{places}").parse().map_err(|_| ParseDecimalError(()))?;
        Ok(Decimal { digits, decimals }.reduced())
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = self.digits.checked_div(self.scale().0).unwrap_or(0);
        if self.decimals == 0 {
            return write!(f, "{whole}");
        }
        let fraction = self.digits.checked_rem(self.scale().0).unwrap_or(0);
        let width = usize::try_from(self.decimals).unwrap_or(0);
        write!(f, "{whole}.{fraction:0width$}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        text.parse().unwrap()
    }

    #[test]
    fn displays_the_shortest_form_of_what_it_parsed() {
        for (text, printed) in [
            ("1", "1"),
            ("1.20", "1.2"),
            ("0.000000001", "0.000000001"),
            ("00.5", "0.5"),
            ("3.0", "3"),
        ] {
            assert_eq!(decimal(text).to_string(), printed);
        }
    }

    #[test]
    fn rejects_what_is_not_a_decimal() {
        for text in ["", ".", "1.", ".5", "-1", "+1", "1e3", "0x1", "1.0000000001", "nan", "1.2.3"]
        {
            assert!(text.parse::<Decimal>().is_err(), "{text}");
        }
    }

    #[test]
    fn converts_to_the_nearest_double() {
        for text in ["1.2", "0.1", "1.001", "999999.999999999", "0.3", "123456789.987654321", "7"] {
            assert_eq!(decimal(text).to_f64(), text.parse::<f64>().unwrap(), "{text}");
        }
    }

    /// The expected doubles were computed from exact fractions.
    #[test]
    fn ratios_are_the_nearest_double() {
        for (numerator, denominator, nearest) in [
            ("999999.999999999", "999999.123456789", 1.0000008765439783),
            ("1000000", "0.000000003", 333333333333333.3),
            ("1", "3", 0.3333333333333333),
            ("1.000000001", "999999.999999999", 1.000000001000001e-06),
            ("123456.789", "0.7", 176366.84142857144),
            ("1.2", "0.1", 12.0),
            ("999999.999999999", "0.000000001", 999999999999999.0),
            ("1.000000007", "3.000000011", 0.33333333444444446),
        ] {
            let ratio = decimal(numerator).ratio(decimal(denominator));
            assert_eq!(ratio, Some(nearest), "{numerator} / {denominator}");
        }
    }

    #[test]
    fn products_with_too_many_digits_are_rejected() {
        assert_eq!(decimal("0.5").times(decimal("2")), Some(Decimal::ONE));
        assert_eq!(decimal("0.123456789").times(decimal("0.5")), None);
    }

    #[test]
    fn divides_exactly_where_doubles_do_not() {
        assert_eq!(decimal("1.2").ratio(decimal("0.1")), Some(12.0));
        assert_eq!(decimal("0.1").ceil_div_of(3), Some(30));
        assert_eq!(decimal("0.3").ceil_mul(10), Some(3));
        assert_eq!(decimal("0").ceil_div_of(3), None);
    }
}
