//! Milliseconds with up to three decimals, exact to the microsecond on the way in and out.

use std::fmt;

use tollgate_core::{Span, Time};

/// A number of JSON that is whole and not negative, however it is written: `2`, `2.0` and `2e0` are one.
///
/// ```
/// assert_eq!(tollgate_sim::whole("1.5e1"), Some(15));
/// assert_eq!(tollgate_sim::whole("1.5"), None);
/// ```
#[must_use]
pub fn whole(text: &str) -> Option<u64> {
    exact(text, 0)
}

/// A number of JSON times a power of ten, if that is a whole number that fits and is not negative.
///
/// The text is read digit by digit: a double would have to be rounded, and near the year 2100 the
/// microsecond is its last bit.
pub(crate) fn exact(text: &str, decimals: u32) -> Option<u64> {
    // Most are whole numbers, and short.
    let digit = |value: Option<u64>, byte: u8| {
        byte.is_ascii_digit().then(|| value.map(|value| value * 10 + u64::from(byte - b'0')))?
    };
    let short = (1..=15).contains(&text.len());
    match text.bytes().filter(|_| short).fold(short.then_some(0), digit) {
        Some(whole) => whole.checked_mul(10_u64.checked_pow(decimals)?),
        None => exact_decimal(text, i32::try_from(decimals).ok()?),
    }
}

fn exact_decimal(text: &str, decimals: i32) -> Option<u64> {
    let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits = || whole.bytes().chain(part.bytes());
    if !digits().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let shift = exponent.parse::<i32>().ok()?.checked_add(decimals)?;
    let shift = shift.checked_sub(i32::try_from(part.len()).ok()?)?;
    let value = digits().try_fold(0_u128, |value, digit| {
        value.checked_mul(10)?.checked_add(u128::from(digit.checked_sub(b'0')?))
    })?;
    let scale = 10_u128.checked_pow(shift.unsigned_abs());
    let value = match (shift < 0, scale) {
        _ if value == 0 => 0,
        (false, Some(scale)) => value.checked_mul(scale)?,
        (true, Some(scale)) if value.checked_rem(scale)? == 0 => value.checked_div(scale)?,
        _ => return None,
    };
    u64::try_from(value).ok()
}

/// Ticks, printed as milliseconds: `1500.25`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Millis(u64);

impl From<Time> for Millis {
    fn from(time: Time) -> Millis {
        Millis(time.as_micros())
    }
}

impl From<Span> for Millis {
    fn from(span: Span) -> Millis {
        Millis(span.as_micros())
    }
}

impl Millis {
    /// Appends the number to a text.
    pub(crate) fn push_to(self, text: &mut String) {
        text.push_str(itoa::Buffer::new().format(self.0 / 1000));
        let mut part = self.0 % 1000;
        if part > 0 {
            text.push('.');
        }
        let mut place = 100;
        while part > 0 {
            text.push(
                char::from_digit(u32::try_from(part / place).unwrap_or(0), 10).unwrap_or('0'),
            );
            part %= place;
            place /= 10;
        }
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.push_to(&mut text);
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_exactly() {
        let table = [
            ("0", Some(0)),
            ("1500.25", Some(1_500_250)),
            ("1700000000000.001", Some(1_700_000_000_000_001)),
            ("4503599627370.495", Some((1 << 52) - 1)),
            ("1.5e3", Some(1_500_000)),
            ("15E-1", Some(1_500)),
            ("2.500000", Some(2_500)),
            ("0.0001", None),
            ("-1", None),
            ("-0", None),
            ("1e400", None),
            ("99999999999999999999999999999999999999999", None),
        ];
        for (text, micros) in table {
            assert_eq!(exact(text, 3), micros, "{text}");
        }
    }

    #[test]
    fn milliseconds_are_printed_exactly() {
        for (micros, text) in [(0, "0"), (1, "0.001"), (1_500_250, "1500.25"), (2_000, "2")] {
            assert_eq!(Millis(micros).to_string(), text);
        }
    }
}
