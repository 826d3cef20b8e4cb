//! Percentages: of keys, and of limits.

use std::fmt;
use std::hash::Hasher as _;
use std::str::FromStr;

use siphasher::sip::SipHasher13;

/// A percentage of all keys, or of a limit, with up to two decimals.
///
/// ```
/// use tollgate::Percentage;
///
/// let five: Percentage = "5%".parse()?;
/// assert_eq!(five, Percentage::whole(5));
/// assert_eq!(five.of(1_000), 50);
/// # Ok::<(), tollgate::ParsePercentageError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Percentage(
    /// In hundredths of a percent.
    u16,
);

/// 100 %, in hundredths of a percent.
const WHOLE: u16 = 10_000;

impl Percentage {
    /// Creates a percentage without decimals; above 100 it is 100.
    #[must_use]
    pub const fn whole(percent: u8) -> Percentage {
        let hundredths = percent as u16 * 100;
        Percentage(if hundredths > WHOLE { WHOLE } else { hundredths })
    }

    /// Returns this part of a number, rounded down.
    #[must_use]
    pub fn of(self, number: u64) -> u64 {
        let part = u128::from(number) * u128::from(self.0) / u128::from(WHOLE);
        u64::try_from(part).unwrap_or(number)
    }

    /// Returns whether a key is included. A greater percentage includes all keys of a smaller one.
    pub(crate) fn includes(self, key: &[u8]) -> bool {
        let mut hasher = SipHasher13::new();
        hasher.write(key);
        hasher.finish() % u64::from(WHOLE) < u64::from(self.0)
    }

    fn parse(percent: &str) -> Option<Percentage> {
        let (whole, part) = percent.split_once('.').unwrap_or((percent, "00"));
        let is_short = (1..=3).contains(&whole.len()) && (1..=2).contains(&part.len());
        let digits = || whole.bytes().chain(part.bytes());
        if !is_short || !digits().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let tenths = if part.len() == 1 { 10 } else { 1 };
        let part = part.parse::<u32>().ok()? * tenths;
        let percentage = u16::try_from(whole.parse::<u32>().ok()? * 100 + part).ok()?;
        (percentage <= WHOLE).then_some(Percentage(percentage))
    }
}

impl FromStr for Percentage {
    type Err = ParsePercentageError;

    fn from_str(text: &str) -> Result<Percentage, ParsePercentageError> {
        let percentage = text.strip_suffix('%').and_then(Percentage::parse);
        percentage.ok_or_else(|| ParsePercentageError(text.to_owned()))
    }
}

impl fmt::Display for Percentage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 % 100 {
            0 => write!(f, "{}%", self.0 / 100),
            part => write!(f, "{}.{part:02}%", self.0 / 100),
        }
    }
}

/// The error of a text that is not a percentage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsePercentageError(String);

impl fmt::Display for ParsePercentageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a percentage; expected 0% to 100%, such as 2.5%", self.0)
    }
}

impl std::error::Error for ParsePercentageError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greater_percentage_includes_all_of_a_smaller_one() {
        let (none, some, more, all) =
            (Percentage(0), Percentage(1_000), Percentage(3_000), Percentage(WHOLE));
        for key in 0..1_000_u32 {
            let key = key.to_le_bytes();
            assert!(!none.includes(&key) && all.includes(&key));
            assert!(more.includes(&key) || !some.includes(&key));
        }
    }

    #[test]
    fn a_part_is_rounded_down() {
        assert_eq!(Percentage::whole(5).of(19), 0);
        assert_eq!(Percentage::whole(5).of(20), 1);
        assert_eq!(Percentage::whole(200).of(u64::MAX), u64::MAX);
    }
}
