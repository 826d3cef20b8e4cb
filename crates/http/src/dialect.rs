//! The dialects of rate limit headers and their names.

use std::fmt;
use std::str::FromStr;

use tollgate_core::did_you_mean;

/// The set of header fields that describes a limit.
///
/// ```
/// use tollgate_http::Dialect;
///
/// assert_eq!("draft-8".parse(), Ok(Dialect::Draft8));
/// assert_eq!(Dialect::default().to_string(), "ietf");
/// let error = "draft8".parse::<Dialect>().unwrap_err();
/// assert!(error.to_string().ends_with("(did you mean \"draft-8\"?)"));
/// ```
///
/// Every dialect adds `retry-after` to a denial, unless waiting does not help. If a policy has
/// several limits, dialects that can describe only one describe the binding limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// `ratelimit: "login";r=6;t=24` and `ratelimit-policy: "login";q=10;w=60`, as in draft 11 of
    /// the IETF.
    ///
    /// `t` is the time until the limit has reset, and after a denial the time until the same cost
    /// fits. It is omitted if nothing is used, since no time has to pass then; for concurrency,
    /// where a lease becomes free when its holder releases it; and if the cost can never fit. The
    /// capacity of a bucket is in `tollgate-burst` if it is not `q`, the unit of its cost in `qu`
    /// if it has one.
    #[default]
    Ietf,
    /// As [`Ietf`](Dialect::Ietf) with a blank after each `;`, and `pk` if there is a
    /// [key](crate::RateLimitHeaders::key), as express-rate-limit writes draft 8.
    Draft8,
    /// `ratelimit: limit=10, remaining=6, reset=24` and `ratelimit-policy: 10;w=60`.
    Draft7,
    /// `ratelimit-limit`, `ratelimit-remaining`, `ratelimit-reset` in seconds from now, and
    /// `ratelimit-policy: 10;w=60`.
    Draft6,
    /// `x-ratelimit-limit`, `-remaining`, `-used`, `-resource` (the name of the policy), and
    /// `-reset` in seconds since the epoch, as GitHub sends them.
    XEpoch,
    /// As [`XEpoch`](Dialect::XEpoch) with `x-ratelimit-reset` in seconds from now, as most other
    /// services send it.
    XDelta,
    /// `x-ratelimit-remaining`, which is zero after every denial; `x-ratelimit-clear`, the seconds
    /// until the bucket is empty; and after a denial `x-ratelimit-reset`, the seconds to wait. Both
    /// times have three decimals, as Sharkey sends them.
    Leaky,
    /// No rate limit headers. A denial still has `retry-after`: it is plain HTTP, and a client that
    /// does not know when to retry retries at once.
    None,
}

impl Dialect {
    /// All dialects.
    pub const ALL: [Dialect; 8] = [
        Dialect::Ietf,
        Dialect::Draft8,
        Dialect::Draft7,
        Dialect::Draft6,
        Dialect::XEpoch,
        Dialect::XDelta,
        Dialect::Leaky,
        Dialect::None,
    ];

    /// Returns the name used in config files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Dialect::Ietf => "ietf",
            Dialect::Draft8 => "draft-8",
            Dialect::Draft7 => "draft-7",
            Dialect::Draft6 => "draft-6",
            Dialect::XEpoch => "x-epoch",
            Dialect::XDelta => "x-delta",
            Dialect::Leaky => "leaky",
            Dialect::None => "none",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Dialect {
    type Err = ParseDialectError;

    fn from_str(text: &str) -> Result<Dialect, ParseDialectError> {
        let found = Dialect::ALL.into_iter().find(|dialect| dialect.name() == text);
        found.ok_or_else(|| ParseDialectError(text.chars().take(MAX_QUOTED_CHARS).collect()))
    }
}

/// Maximum number of characters of an invalid name that the error message quotes.
const MAX_QUOTED_CHARS: usize = 64;

/// The text is not the name of a [`Dialect`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseDialectError(String);

impl fmt::Display for ParseDialectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Dialect::ALL.map(Dialect::name);
        let (given, expected) = (&self.0, names.join(", "));
        write!(f, "dialect {given:?} is not accepted; expected one of {expected}")?;
        f.write_str(&did_you_mean(given, names))
    }
}

impl std::error::Error for ParseDialectError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_parsed() {
        for dialect in Dialect::ALL {
            assert_eq!(dialect.name().parse(), Ok(dialect));
        }
    }

    #[test]
    fn error_lists_the_accepted_names() {
        let error = "x-eposh".parse::<Dialect>().unwrap_err();
        let expected = "dialect \"x-eposh\" is not accepted; expected one of ietf, draft-8, draft-7, \
                    draft-6, x-epoch, x-delta, leaky, none (did you mean \"x-epoch\"?)";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn error_does_not_repeat_a_long_name() {
        let error = "ä".repeat(100_000).parse::<Dialect>().unwrap_err();
        assert!(error.to_string().len() < 300);
    }
}
