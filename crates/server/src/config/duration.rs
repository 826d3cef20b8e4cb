//! Durations: `500ms`, `5s`, `2min`, `1h`.

use std::time::Duration;

use super::diagnostics::Diagnostics;
use super::value::Value;

/// The units, in milliseconds.
const UNITS: [(&str, u64); 5] =
    [("ms", 1), ("s", 1_000), ("min", 60_000), ("m", 60_000), ("h", 3_600_000)];

/// Shortest duration.
const MIN: Duration = Duration::from_millis(1);

/// Reads a duration from [`MIN`] to `max`.
pub(super) fn read(
    diagnostics: &mut Diagnostics<'_>,
    value: &Value<'_>,
    max: &str,
) -> Option<Duration> {
    let expected = format!("a duration in ms, s, min or h, such as \"5s\", from {MIN:?} to {max}");
    let range = MIN..=parse(max).unwrap_or_default();
    let fits = |duration: &Duration| range.contains(duration);
    value.parsed(diagnostics, &expected, |text| parse(text).filter(fits))
}

fn parse(text: &str) -> Option<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    let (_, millis) = UNITS.iter().find(|(name, _)| *name == unit)?;
    number.parse::<u64>().ok()?.checked_mul(*millis).map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_a_whole_number_with_a_unit() {
        for (text, millis) in [
            ("1ms", Some(1)),
            ("20ms", Some(20)),
            ("5s", Some(5_000)),
            ("2min", Some(120_000)),
            ("2m", Some(120_000)),
            ("1h", Some(3_600_000)),
            ("007s", Some(7_000)),
            ("", None),
            ("5", None),
            ("s", None),
            ("5 s", None),
            ("-5s", None),
            ("1.5s", None),
            ("5S", None),
            ("5us", None),
            ("5µs", None),
            ("1s500ms", None),
            ("18446744073709551615h", None),
            ("18446744073709551616ms", None),
        ] {
            assert_eq!(parse(text), millis.map(Duration::from_millis), "{text}");
        }
    }
}
