//! Numbers of JSON, read exactly.

/// Parses a JSON number that is whole and not negative, however it is written: `2`, `2.0` and
/// `2e0` are the same number.
///
/// ```
/// use tollgate_http::json::parse_whole;
///
/// assert_eq!(parse_whole("1.5e1"), Some(15));
/// assert_eq!(parse_whole("1.5"), None);
/// ```
#[must_use]
pub fn parse_whole(text: &str) -> Option<u64> {
    parse_scaled(text, 0)
}

/// Parses a JSON number and multiplies it by 10 to the power of `decimals`. Returns `None` if the
/// product is negative, not whole, or does not fit.
///
/// The text is read digit by digit: a double would have to be rounded, and near the year 2100 the
/// microsecond is its last bit.
///
/// ```
/// use tollgate_http::json::parse_scaled;
///
/// assert_eq!(parse_scaled("1500.25", 3), Some(1_500_250));
/// assert_eq!(parse_scaled("1500.2501", 3), None);
/// ```
#[must_use]
pub fn parse_scaled(text: &str, decimals: u32) -> Option<u64> {
    // Most numbers are whole and short. Fifteen digits cannot overflow.
    let digit = |value: Option<u64>, byte: u8| {
        byte.is_ascii_digit().then(|| {
            let digit = u64::from(byte.wrapping_sub(b'0'));
            value.map(|value| value.wrapping_mul(10).wrapping_add(digit))
        })?
    };
    let short = (1..=15).contains(&text.len());
    match text.bytes().filter(|_| short).fold(short.then_some(0), digit) {
        Some(whole) => whole.checked_mul(10_u64.checked_pow(decimals)?),
        None => parse_decimal(text, i32::try_from(decimals).ok()?),
    }
}

fn parse_decimal(text: &str, decimals: i32) -> Option<u64> {
    let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = || whole.bytes().chain(fraction.bytes());
    if !digits().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let shift = exponent.parse::<i32>().ok()?.checked_add(decimals)?;
    let shift = shift.checked_sub(i32::try_from(fraction.len()).ok()?)?;
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
            assert_eq!(parse_scaled(text, 3), micros, "{text}");
        }
    }
}
