//! Sizes in bytes: `512KiB`, `64MiB`, `1GiB`.

use super::diagnostics::Diagnostics;
use super::value::Value;

/// The units, in bytes. Those of a thousand are not accepted: few who write `MB` mean them.
const UNITS: [(&str, u64); 4] =
    [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];

/// Reads a size within these bounds.
pub(super) fn read(
    diagnostics: &mut Diagnostics<'_>,
    value: &Value<'_>,
    min: &str,
    max: &str,
) -> Option<usize> {
    let expected = format!("a size in KiB, MiB or GiB, such as \"64MiB\", from {min} to {max}");
    let range = parse(min).unwrap_or_default()..=parse(max).unwrap_or_default();
    let fits = |bytes: &usize| range.contains(bytes);
    value.parsed(diagnostics, &expected, |text| parse(text).filter(fits))
}

fn parse(text: &str) -> Option<usize> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    let (_, bytes) = UNITS.iter().find(|(name, _)| *name == unit)?;
    usize::try_from(number.parse::<u64>().ok()?.checked_mul(*bytes)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_a_whole_number_with_a_unit() {
        for (text, bytes) in [
            ("1KiB", Some(1_024)),
            ("64MiB", Some(67_108_864)),
            ("1GiB", Some(1_073_741_824)),
            ("2TiB", Some(2_199_023_255_552)),
            ("007KiB", Some(7_168)),
            ("", None),
            ("64", None),
            ("MiB", None),
            ("64 MiB", None),
            ("64MB", None),
            ("64mib", None),
            ("64M", None),
            ("-1MiB", None),
            ("1.5GiB", None),
            ("64MiB1", None),
            ("18446744073709551615KiB", None),
            ("18446744073709551616KiB", None),
        ] {
            assert_eq!(parse(text), bytes, "{text}");
        }
    }
}
