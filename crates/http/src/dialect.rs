//! The names of the dialects.

use std::fmt;
use std::str::FromStr;

use tollgate_core::did_you_mean;

/// How limits are told in header fields.
///
/// ```
/// use tollgate_http::Dialect;
///
/// assert_eq!("draft-8".parse(), Ok(Dialect::Draft8));
/// assert_eq!(Dialect::default().to_string(), "ietf");
/// let mistake = "draft8".parse::<Dialect>().unwrap_err();
/// assert!(mistake.to_string().ends_with("(did you mean \"draft-8\"?)"));
/// ```
///
/// Every dialect adds `retry-after` to a denial, unless waiting does not help. Where there are
/// several limits, those that can tell only one tell the one that binds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// `ratelimit: "login";r=6;t=24` and `ratelimit-policy: "login";q=10;w=60`, as in draft 11 of
    /// the IETF.
    ///
    /// `t` is when the limit will have reset, and after a denial when the same cost fits. It is
    /// left out where nothing is used, since no time has to pass then; for concurrency, where it is
    /// others who decide when a place is free; and if the cost can never fit. A bucket that holds
    /// more or less than `q` says so in `tollgate-burst`.
    #[default]
    Ietf,
    /// The same with a blank after each `;`, and `pk` for whoever gives a
    /// [key](crate::RateLimitHeaders::key): as express-rate-limit writes draft 8.
    Draft8,
    /// `ratelimit: limit=10, remaining=6, reset=24` and `ratelimit-policy: 10;w=60`.
    Draft7,
    /// `ratelimit-limit`, `ratelimit-remaining`, `ratelimit-reset` in seconds from now, and
    /// `ratelimit-policy: 10;w=60`.
    Draft6,
    /// `x-ratelimit-limit`, `-remaining`, `-used`, `-resource` (the name of the policy), and
    /// `-reset` in seconds since the epoch: as GitHub does.
    XEpoch,
    /// The same with `x-ratelimit-reset` in seconds from now: as most others do.
    XDelta,
    /// `x-ratelimit-remaining`, zero also if this call was blocked; `x-ratelimit-clear`, the
    /// seconds to an empty bucket; and if blocked, `x-ratelimit-reset`, the seconds to wait; both
    /// with three decimals: as Sharkey does.
    Leaky,
    /// No limits are headers. A denial still has its `retry-after`: that is plain HTTP and no dialect,
    /// and a client that is not told when to come back comes back at once.
    None,
}

impl Dialect {
    /// All of them.
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

    /// The word for it.
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
        let named = Dialect::ALL.into_iter().find(|dialect| dialect.name() == text);
        named.ok_or_else(|| ParseDialectError(text.chars().take(MAX_REPEATED).collect()))
    }
}

/// How many characters of a mistake are repeated in its message.
const MAX_REPEATED: usize = 64;

/// Some text is not the name of a [`Dialect`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseDialectError(String);

impl fmt::Display for ParseDialectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Dialect::ALL.map(Dialect::name);
        let (typed, listed) = (&self.0, names.join(", "));
        write!(f, "dialect {typed:?} is not accepted; expected one of {listed}")?;
        f.write_str(&did_you_mean(typed, names))
    }
}

impl std::error::Error for ParseDialectError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back() {
        for dialect in Dialect::ALL {
            assert_eq!(dialect.name().parse(), Ok(dialect));
        }
    }

    #[test]
    fn a_mistake_says_what_is_accepted() {
        let mistake = "x-eposh".parse::<Dialect>().unwrap_err();
        let said = "dialect \"x-eposh\" is not accepted; expected one of ietf, draft-8, draft-7, \
                    draft-6, x-epoch, x-delta, leaky, none (did you mean \"x-epoch\"?)";
        assert_eq!(mistake.to_string(), said);
    }

    #[test]
    fn a_long_mistake_is_not_repeated_in_full() {
        let mistake = "ä".repeat(100_000).parse::<Dialect>().unwrap_err();
        assert!(mistake.to_string().len() < 300);
    }
}
