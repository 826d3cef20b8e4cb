//! Enforcement modes: a new limit can be observed before it denies any request.

use std::fmt;
use std::str::FromStr;

use tollgate_core::did_you_mean;

use crate::percentage::Percentage;

/// The enforcement mode of a policy: what happens to requests that its limits deny.
///
/// ```
/// use tollgate::Enforce;
///
/// let some: Enforce = "25%".parse()?;
/// assert_eq!(some.to_string(), "25%");
/// // About a quarter of the keys, the same ones on every machine.
/// let enforced = (0..1_000_u32).filter(|key| some.holds_for(&key.to_le_bytes())).count();
/// assert!((200..300).contains(&enforced));
/// assert!(!Enforce::Shadow.holds_for(b"anyone"));
/// # Ok::<(), tollgate::ParseEnforceError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Enforce {
    /// Denied requests are rejected.
    #[default]
    On,
    /// Requests are counted, and all of them pass.
    Shadow,
    /// Requests are counted, and the clients of denied ones see no difference: a shadow ban. Only the application behind
    /// the limiter learns that a request was denied, and decides what to answer.
    Silent,
    /// Nothing is counted, and all requests pass.
    Off,
    /// Requests are counted, and denied ones are rejected for a fixed part of the keys, always the
    /// same ones. Requests with other keys pass.
    Percent(Percentage),
}

const WORDS: [(&str, Enforce); 4] = [
    ("on", Enforce::On),
    ("shadow", Enforce::Shadow),
    ("silent", Enforce::Silent),
    ("off", Enforce::Off),
];

impl Enforce {
    /// Returns whether a denied request with this key is rejected.
    #[must_use]
    pub fn holds_for(self, key: &[u8]) -> bool {
        match self {
            Enforce::On => true,
            Enforce::Shadow | Enforce::Silent | Enforce::Off => false,
            Enforce::Percent(percentage) => percentage.includes(key),
        }
    }
}

impl FromStr for Enforce {
    type Err = ParseEnforceError;

    fn from_str(text: &str) -> Result<Enforce, ParseEnforceError> {
        let percentage = text.parse().ok().map(Enforce::Percent);
        let word = || WORDS.iter().find(|(word, _)| *word == text).map(|(_, enforce)| *enforce);
        percentage.or_else(word).ok_or_else(|| ParseEnforceError(text.to_owned()))
    }
}

impl fmt::Display for Enforce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = WORDS.iter().find(|(_, enforce)| enforce == self).map(|(word, _)| *word);
        match (self, word) {
            (Enforce::Percent(percentage), _) => percentage.fmt(f),
            (_, word) => f.pad(word.unwrap_or_default()),
        }
    }
}

/// The error of a text that is not an enforcement mode.
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
    fn modes_print_as_they_are_parsed() {
        for text in ["on", "shadow", "silent", "off", "0%", "25%", "0.50%", "99.99%", "100%"] {
            assert_eq!(text.parse::<Enforce>().map(|enforce| enforce.to_string()), Ok(text.into()));
        }
        assert_eq!("2.5%".parse::<Enforce>(), "2.50%".parse());
    }

    #[test]
    fn invalid_modes_are_rejected() {
        for text in [
            "", "ON", "101%", "656%", "999%", "100.01%", "-1%", "1.005%", "%", ".5%", "5.%",
            "1e1%", "25",
        ] {
            assert!(text.parse::<Enforce>().is_err(), "{text}");
        }
        let error = "shadw".parse::<Enforce>().unwrap_err().to_string();
        assert!(error.ends_with("(did you mean \"shadow\"?)"), "{error}");
    }
}
