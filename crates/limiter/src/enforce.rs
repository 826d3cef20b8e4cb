//! How far a policy is enforced: a limit can be watched before it turns anyone away.

use std::fmt;
use std::hash::Hasher as _;
use std::str::FromStr;

use siphasher::sip::SipHasher13;
use tollgate_core::did_you_mean;

/// What becomes of those whom a policy would turn away.
///
/// ```
/// use tollgate::Enforce;
///
/// let some: Enforce = "25%".parse()?;
/// assert_eq!(some.to_string(), "25%");
/// // The same keys on every machine, and about a quarter of them.
/// let enforced = (0..1_000_u32).filter(|key| some.holds_for(&key.to_le_bytes())).count();
/// assert!((200..300).contains(&enforced));
/// assert!(!Enforce::Shadow.holds_for(b"anyone"));
/// # Ok::<(), tollgate::ParseEnforceError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Enforce {
    /// They are turned away.
    #[default]
    On,
    /// All is counted, and everyone may pass.
    Shadow,
    /// They are turned away, but not told that there is a limit.
    Silent,
    /// Nothing is counted, and everyone may pass.
    Off,
    /// Those with some of the keys are turned away, always the same ones; the rest may pass.
    Percent(Percentage),
}

/// A part of all keys, in hundredths of a percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Percentage(u16);

/// All of them.
const WHOLE: u16 = 10_000;

const WORDS: [(&str, Enforce); 4] = [
    ("on", Enforce::On),
    ("shadow", Enforce::Shadow),
    ("silent", Enforce::Silent),
    ("off", Enforce::Off),
];

impl Enforce {
    /// Whether whoever has this key is turned away when the limits say so.
    #[must_use]
    pub fn holds_for(self, key: &[u8]) -> bool {
        match self {
            Enforce::On | Enforce::Silent => true,
            Enforce::Shadow | Enforce::Off => false,
            Enforce::Percent(percentage) => percentage.has(key),
        }
    }
}

impl Percentage {
    /// Whether a key is among them. Growing the percentage keeps those that are in it.
    fn has(self, key: &[u8]) -> bool {
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

impl FromStr for Enforce {
    type Err = ParseEnforceError;

    fn from_str(text: &str) -> Result<Enforce, ParseEnforceError> {
        let percentage = text.strip_suffix('%').and_then(Percentage::parse).map(Enforce::Percent);
        let word = || WORDS.iter().find(|(word, _)| *word == text).map(|(_, enforce)| *enforce);
        percentage.or_else(word).ok_or_else(|| ParseEnforceError(text.to_owned()))
    }
}

impl fmt::Display for Enforce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = WORDS.iter().find(|(_, enforce)| enforce == self).map(|(word, _)| *word);
        match (self, word) {
            (Enforce::Percent(Percentage(percentage)), _) if percentage % 100 == 0 => {
                write!(f, "{}%", percentage / 100)
            }
            (Enforce::Percent(Percentage(percentage)), _) => {
                write!(f, "{}.{:02}%", percentage / 100, percentage % 100)
            }
            (_, word) => f.pad(word.unwrap_or_default()),
        }
    }
}

/// Some text does not say how far a policy is enforced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseEnforceError(String);

impl fmt::Display for ParseEnforceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let meant = did_you_mean(&self.0, WORDS.iter().map(|(word, _)| *word));
        let words = "expected on, shadow, silent, off or a percentage such as 25%";
        write!(f, "enforce {:?} is not known; {words}{meant}", self.0)
    }
}

impl std::error::Error for ParseEnforceError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_said_is_printed_back() {
        for text in ["on", "shadow", "silent", "off", "0%", "25%", "0.50%", "99.99%", "100%"] {
            assert_eq!(text.parse::<Enforce>().map(|enforce| enforce.to_string()), Ok(text.into()));
        }
        assert_eq!("2.5%".parse::<Enforce>(), "2.50%".parse());
    }

    #[test]
    fn what_cannot_be_said_is_told() {
        for text in [
            "", "ON", "101%", "656%", "999%", "100.01%", "-1%", "1.005%", "%", ".5%", "5.%",
            "1e1%", "25",
        ] {
            assert!(text.parse::<Enforce>().is_err(), "{text}");
        }
        let error = "shadw".parse::<Enforce>().unwrap_err().to_string();
        assert!(error.ends_with("(did you mean \"shadow\"?)"), "{error}");
    }

    #[test]
    fn a_greater_share_has_all_of_a_smaller_one() {
        let (none, some, more, all) =
            (Percentage(0), Percentage(1_000), Percentage(3_000), Percentage(WHOLE));
        for key in 0..1_000_u32 {
            let key = key.to_le_bytes();
            assert!(!none.has(&key) && all.has(&key));
            assert!(more.has(&key) || !some.has(&key));
        }
    }
}
