//! The algorithm and numbers of a limit as written, before any arithmetic.

use std::fmt;

use jiff::tz::TimeZone;

use super::period::Period;
use crate::decimal::Decimal;
use crate::error::LimitError;
use crate::suggest::nearest;
use crate::time::Span;

/// A rate, `N/PERIOD`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// The amount in one period.
    pub count: u32,
    /// Length of the period.
    pub period: Span,
}

/// Whether the slot that is only partly inside the window counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// The slot counts, so that there is never more than the limit in any window.
    Strict,
    /// The slot does not count. It may be forgotten up to its own width early.
    Lenient,
}

/// The algorithm and numbers of a limit as written, one variant for each algorithm.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are named as in the limit line")]
pub enum Spec {
    Gcra { rate: Rate, burst: u32 },
    TokenBucket { rate: Rate, burst: u32, whole: bool },
    LeakyBucket { size: u32, drip: u32, every: Span },
    Legacy { max: Option<u32>, duration: Option<Span>, min_interval: Option<Span> },
    FixedWindow { count: u32, period: Period, zone: Zone },
    RequestWindow { rate: Rate },
    SlidingLog { rate: Rate },
    SlidingCounters { rate: Rate, resolution: Option<Span>, edge: Edge },
    SlidingWindow { rate: Rate },
    Ar1 { max: Decimal, decay: Decimal, resolution: Span },
    Concurrency { leases: u32, ttl: Span },
    Unlimited,
}

/// A time zone. Default: UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone(TimeZone);

impl Zone {
    /// Coordinated Universal Time, the default zone.
    pub const UTC: Zone = Zone(TimeZone::UTC);

    /// Creates a zone from its name in the built-in IANA database.
    ///
    /// ```
    /// use tollgate_core::Zone;
    ///
    /// assert_eq!(Zone::named("europe/amsterdam")?.to_string(), "Europe/Amsterdam");
    /// let error = Zone::named("Europe/Amsterdm").unwrap_err();
    /// assert!(error.to_string().ends_with("(did you mean \"Europe/Amsterdam\"?)"));
    /// # Ok::<(), tollgate_core::LimitError>(())
    /// ```
    ///
    /// # Errors
    /// Fails if there is no such zone.
    pub fn named(name: &str) -> Result<Zone, LimitError> {
        let known = |zone: &TimeZone| !zone.is_unknown() && zone.iana_name().is_some();
        let zone = TimeZone::get(name).ok().filter(known);
        zone.map(Zone).ok_or_else(|| unknown_zone(name))
    }

    pub(crate) fn time_zone(&self) -> TimeZone {
        self.0.clone()
    }

    pub(crate) fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    pub(crate) fn is_utc(&self) -> bool {
        self.0 == TimeZone::UTC || self.0.iana_name() == Some("UTC")
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn unknown_zone(name: &str) -> LimitError {
    let names: Vec<String> =
        jiff::tz::db().available().map(|name| name.as_str().to_owned()).collect();
    LimitError::new("tz", name, "a zone of the IANA database, such as Europe/Amsterdam")
        .or_nearest(nearest(name, names.iter().map(String::as_str)))
        .in_line(&format!("tz {name}"))
}

/// An algorithm, by its name in the limit line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the variants are named as in the limit line")]
pub enum Algorithm {
    Gcra,
    TokenBucket,
    LeakyBucket,
    Legacy,
    FixedWindow,
    RequestWindow,
    SlidingLog,
    SlidingCounters,
    SlidingWindow,
    Ar1,
    Concurrency,
    Unlimited,
}

impl Algorithm {
    /// All algorithms, in the order of the documentation.
    pub const ALL: [Algorithm; 12] = [
        Algorithm::Gcra,
        Algorithm::TokenBucket,
        Algorithm::LeakyBucket,
        Algorithm::Legacy,
        Algorithm::FixedWindow,
        Algorithm::RequestWindow,
        Algorithm::SlidingLog,
        Algorithm::SlidingCounters,
        Algorithm::SlidingWindow,
        Algorithm::Ar1,
        Algorithm::Concurrency,
        Algorithm::Unlimited,
    ];

    /// Returns its name in the limit line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::Gcra => "gcra",
            Algorithm::TokenBucket => "token-bucket",
            Algorithm::LeakyBucket => "leaky-bucket",
            Algorithm::Legacy => "legacy",
            Algorithm::FixedWindow => "fixed-window",
            Algorithm::RequestWindow => "request-window",
            Algorithm::SlidingLog => "sliding-log",
            Algorithm::SlidingCounters => "sliding-counters",
            Algorithm::SlidingWindow => "sliding-window",
            Algorithm::Ar1 => "ar1",
            Algorithm::Concurrency => "concurrency",
            Algorithm::Unlimited => "unlimited",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Algorithm> {
        Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Spec {
    pub(crate) fn algorithm(&self) -> Algorithm {
        match self {
            Spec::Gcra { .. } => Algorithm::Gcra,
            Spec::TokenBucket { .. } => Algorithm::TokenBucket,
            Spec::LeakyBucket { .. } => Algorithm::LeakyBucket,
            Spec::Legacy { .. } => Algorithm::Legacy,
            Spec::FixedWindow { .. } => Algorithm::FixedWindow,
            Spec::RequestWindow { .. } => Algorithm::RequestWindow,
            Spec::SlidingLog { .. } => Algorithm::SlidingLog,
            Spec::SlidingCounters { .. } => Algorithm::SlidingCounters,
            Spec::SlidingWindow { .. } => Algorithm::SlidingWindow,
            Spec::Ar1 { .. } => Algorithm::Ar1,
            Spec::Concurrency { .. } => Algorithm::Concurrency,
            Spec::Unlimited => Algorithm::Unlimited,
        }
    }
}
