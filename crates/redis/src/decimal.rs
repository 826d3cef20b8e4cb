//! The state of a flow as one decimal number, which Redis keeps in 16 bytes: `lua/decimal.lua` says how it is written.
//!
//! The number has 63 bits and a sign. The instant takes fifteen digits, and what is left is the code of the pace: for
//! most that people write there is one. (`5/min` is 12 * 10^6 ticks for each unit, `30/s` is 10^5 ticks by three, and
//! `5/day` is 2 * 864 * 10^7; `7/h` has none.)

use tollgate_core::storage::{Packed, Terms};

/// The first instant that can be written, in ticks: in 2020.
pub(crate) const EPOCH: u64 = 1_600_000_000_000_000;
/// How many ticks can be written from there on: until 2052.
pub(crate) const SPAN: u64 = 10_u64.pow(DIGITS);
/// How many digits the instant takes.
const DIGITS: u32 = 15;

/// Greatest mantissa of a positive code. With nine as exponent and the instant it still fits into 63 bits.
const MAX_MANTISSA: u64 = 921;
/// Greatest exponent of ten.
const MAX_EXPONENT: u32 = 9;
/// Greatest code, positive or negative.
pub(crate) const MAX_CODE: u64 = MAX_MANTISSA * 10 + MAX_EXPONENT as u64;
/// What distinguishes negative codes of one mantissa.
const KINDS: u64 = 4;
/// Ticks are multiplied by [`DAY`]. Smaller kinds are the parts of a tick by three.
const KIND_OF_DAY: u64 = 3;
/// A day has so many ticks, times a power of ten.
const DAY: u64 = 864;
const THIRDS: u64 = 3;

/// Returns the code of a pace, with no parts of a tick; `None` if it has none.
pub(crate) fn code(ticks: u64, parts: u64) -> Option<i64> {
    let negative = |(mantissa, exponent): (u64, u64), kind: u64| {
        let code = (mantissa * KINDS + kind) * 10 + exponent;
        i64::try_from(code).ok().map(|code| -code)
    };
    match parts {
        1 => match split(ticks, MAX_MANTISSA) {
            Some((mantissa, exponent)) => i64::try_from(mantissa * 10 + exponent).ok(),
            None if ticks.is_multiple_of(DAY) => {
                negative(split(ticks / DAY, MAX_MANTISSA / KINDS - 1)?, KIND_OF_DAY)
            }
            None => None,
        },
        THIRDS => negative(split(ticks, MAX_MANTISSA / KINDS - 1)?, 0),
        _ => None,
    }
}

/// Returns the mantissa and the exponent of ten of a number, unless the mantissa is too large.
fn split(number: u64, max_mantissa: u64) -> Option<(u64, u64)> {
    let (mut mantissa, mut exponent) = (number, 0);
    while mantissa.is_multiple_of(10) && exponent < u64::from(MAX_EXPONENT) && mantissa > 0 {
        (mantissa, exponent) = (mantissa / 10, exponent + 1);
    }
    (1..=max_mantissa).contains(&mantissa).then_some((mantissa, exponent))
}

/// Returns the pace of a code, in ticks and parts, and the parts of a tick in it.
fn pace(code: i64) -> Option<(u64, u64, u64)> {
    let (head, exponent) = (code.unsigned_abs() / 10, code.unsigned_abs() % 10);
    let power = 10_u64.pow(u32::try_from(exponent).ok()?);
    if code > 0 {
        return Some((head.checked_mul(power)?, 1, 0));
    }
    let ticks = (head / KINDS).checked_mul(power)?;
    match head % KINDS {
        KIND_OF_DAY => Some((ticks.checked_mul(DAY)?, 1, 0)),
        rest => Some((ticks, THIRDS, rest)),
    }
}

/// Reads a state from a number.
pub(crate) fn parse(text: &[u8]) -> Option<Packed> {
    let number: i64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    let span = i64::try_from(SPAN).ok()?;
    let (ticks, parts, rest) = pace(number / span)?;
    let tick = u128::from((number % span).unsigned_abs() + EPOCH);
    let empty = tick * u128::from(parts) + u128::from(rest);
    let halves = [empty & u128::from(u64::MAX), empty >> 64].map(u64::try_from);
    let [Ok(low), Ok(high)] = halves else { return None };
    Some(Packed::new(Terms::from_words([0, ticks, parts, 0])?, [low, high, 0]))
}

#[cfg(test)]
mod tests {
    use tollgate_core::Limit;
    use tollgate_core::remote::{LimitParams as _, RuleParams};

    use super::*;

    fn pace_of(line: &str) -> (u64, u64) {
        match line.parse::<Limit>().unwrap().params() {
            RuleParams::Flow { ticks, parts, .. } => (ticks, parts),
            other => unreachable!("{other:?}"),
        }
    }

    #[test]
    fn common_paces_have_a_code() {
        let lines = [
            "gcra 1/s",
            "gcra 3/s",
            "gcra 30/s",
            "gcra 60/s",
            "gcra 1000/s",
            "gcra 5/min",
            "gcra 30/min",
            "gcra 45/min",
            "gcra 100/min",
            "gcra 5/h",
            "gcra 5000/h",
            "gcra 1/day",
            "gcra 5/day",
            "gcra 500/day",
            "gcra 1/week",
            "token-bucket 100/s burst 200",
        ];
        for line in lines {
            let (ticks, parts) = pace_of(line);
            let code = code(ticks, parts).unwrap_or_else(|| unreachable!("{line}"));
            assert_eq!(pace(code), Some((ticks, parts, 0)), "{line}");
        }
        for line in ["gcra 7/h", "gcra 64/s", "gcra 90/s"] {
            let (ticks, parts) = pace_of(line);
            assert_eq!(code(ticks, parts), None, "{line}");
        }
    }

    #[test]
    fn parts_of_a_tick_are_in_the_code() {
        let thirds = code(100_000, 3).unwrap();
        for rest in 0..3_u8 {
            assert_eq!(pace(thirds - 10 * i64::from(rest)), Some((100_000, 3, u64::from(rest))));
        }
    }

    #[test]
    fn each_code_fits_into_a_number() {
        let negative = 1..MAX_MANTISSA / KINDS;
        let whole = (1..=MAX_MANTISSA).map(|mantissa| (mantissa, 1, 0));
        let days = negative.clone().map(|mantissa| (mantissa * DAY, 1, 0));
        let thirds = negative.map(|mantissa| (mantissa, THIRDS, 20));
        for (ticks, parts, rest) in whole.chain(days).chain(thirds) {
            let ticks = ticks * 10_u64.pow(MAX_EXPONENT);
            let code = code(ticks, parts).unwrap();
            assert_eq!(pace(code), Some((ticks, parts, 0)));
            let most =
                (code.unsigned_abs() + rest).checked_mul(SPAN).map(|number| number + (SPAN - 1));
            assert!(most.is_some_and(|most| i64::try_from(most).is_ok()), "{ticks} {parts}");
        }
    }

    #[test]
    fn anything_else_is_no_number() {
        for text in ["", "x", "1", "99999999999999999999", "0000000000000000", "-"] {
            assert!(parse(text.as_bytes()).is_none(), "{text}");
        }
    }
}
