//! Limits made without a line: a constructor for each algorithm, checked as lines are.

use std::time::Duration;

use super::Limit;
use super::bounds::LimitResult;
use super::line::{self, Line};
use super::period::Period;
use super::spec::{Algorithm, Edge, Rate, Spec, Zone};
use crate::decimal::Decimal;
use crate::error::LimitError;
use crate::rule::Rule;
use crate::time::Span;

/// Limits without a line.
///
/// The numbers are checked as those of a line, and the limits are the same:
///
/// ```
/// use tollgate_core::{Limit, Rate};
///
/// let limit = Limit::gcra(Rate::per_minute(90_000), 10_000)?.with_unit("tokens")?.with_per("user")?;
/// assert_eq!(limit, "gcra 90000/min burst 10000 of tokens per user".parse()?);
///
/// let error = Limit::gcra(Rate::per_second(100), 0).unwrap_err();
/// assert_eq!((error.line(), error.field(), error.value()), ("gcra 100/s burst 0", "burst", "0"));
/// # Ok::<(), tollgate_core::LimitError>(())
/// ```
///
/// # Errors
/// They fail if a number is out of its bounds, or a [`Duration`] is no whole number of microseconds.
/// Nothing is rounded.
impl Limit {
    /// Creates a limit from its algorithm and numbers. It has all options of the line's algorithms.
    ///
    /// ```
    /// use tollgate_core::{Limit, Period, Rate, Spec, Zone};
    ///
    /// let zone = Zone::named("Europe/Amsterdam")?;
    /// let limit = Limit::new(Spec::FixedWindow { count: 1000, period: Period::DAY, zone })?;
    /// assert_eq!(limit.to_string(), "fixed-window 1000/day tz Europe/Amsterdam");
    ///
    /// let spec = Spec::TokenBucket { rate: Rate::per_second(100), burst: 200, whole: true };
    /// assert_eq!(Limit::new(spec)?.to_string(), "token-bucket 100/s burst 200 whole");
    /// # Ok::<(), tollgate_core::LimitError>(())
    /// ```
    ///
    /// # Errors
    /// Fails if a number is out of its bounds.
    pub fn new(spec: Spec) -> Result<Limit, LimitError> {
        Limit::from_line(Line::new(spec))
    }

    /// Creates `gcra`: a steady rate, with up to `burst` at one instant.
    ///
    /// # Errors
    /// Fails if the rate or `burst` is zero, or a full burst takes longer than 2^51 µs to drain.
    pub fn gcra(rate: Rate, burst: u32) -> Result<Limit, LimitError> {
        Limit::new(Spec::Gcra { rate, burst })
    }

    /// Creates `token-bucket`: a bucket of `burst` tokens that flow in one by one.
    ///
    /// # Errors
    /// Fails as [`Limit::gcra`] does.
    pub fn token_bucket(rate: Rate, burst: u32) -> Result<Limit, LimitError> {
        Limit::new(Spec::TokenBucket { rate, burst, whole: false })
    }

    /// Creates `leaky-bucket`: a bucket that loses `drip` every so often.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate_core::Limit;
    ///
    /// let limit = Limit::leaky_bucket(10, 2, Duration::from_secs(1))?;
    /// assert_eq!(limit, "leaky-bucket size 10 drip 2 every 1s".parse()?);
    /// # Ok::<(), tollgate_core::LimitError>(())
    /// ```
    ///
    /// # Errors
    /// Fails if a number is zero, `every` is no whole number of microseconds, or a full bucket takes
    /// longer than 2^51 µs to drain.
    pub fn leaky_bucket(size: u32, drip: u32, every: Duration) -> Result<Limit, LimitError> {
        let every = length(Algorithm::LeakyBucket, "every", every)?;
        Limit::new(Spec::LeakyBucket { size, drip, every })
    }

    /// Creates `fixed-window`, aligned to the clock or the calendar of UTC. For other time zones,
    /// see [`Limit::new`].
    ///
    /// ```
    /// use tollgate_core::{Limit, Period};
    ///
    /// assert_eq!(Limit::fixed_window(5000, Period::HOUR)?, "fixed-window 5000/h".parse()?);
    /// assert_eq!(Limit::fixed_window(9, Period::MONTH)?, "fixed-window 9/month".parse()?);
    /// # Ok::<(), tollgate_core::LimitError>(())
    /// ```
    ///
    /// # Errors
    /// Fails if a number is zero, the window is longer than 2^50 µs, or the calendar has no such
    /// unit.
    pub fn fixed_window(count: u32, period: Period) -> Result<Limit, LimitError> {
        Limit::new(Spec::FixedWindow { count, period, zone: Zone::UTC })
    }

    /// Creates `request-window`: a window that opens with the first request.
    ///
    /// # Errors
    /// Fails if the rate has a zero, or the window is longer than 2^50 µs.
    pub fn request_window(rate: Rate) -> Result<Limit, LimitError> {
        Limit::new(Spec::RequestWindow { rate })
    }

    /// Creates `sliding-log`: never more than the rate in any window, exactly.
    ///
    /// # Errors
    /// Fails as [`Limit::request_window`] does.
    pub fn sliding_log(rate: Rate) -> Result<Limit, LimitError> {
        Limit::new(Spec::SlidingLog { rate })
    }

    /// Creates `sliding-counters`: never more than the rate in any window, which moves by slots as
    /// wide as the resolution. Default: a sixtieth of the window.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate_core::{Limit, Rate};
    ///
    /// let ten_minutes = Duration::from_secs(600);
    /// let limit = Limit::sliding_counters(Rate::per_hour(5), Some(ten_minutes))?;
    /// assert_eq!(limit, "sliding-counters 5/h resolution 10min".parse()?);
    /// # Ok::<(), tollgate_core::LimitError>(())
    /// ```
    ///
    /// # Errors
    /// Fails as [`Limit::request_window`] does, or if the resolution is zero, longer than the
    /// window, or no whole number of microseconds.
    pub fn sliding_counters(rate: Rate, resolution: Option<Duration>) -> Result<Limit, LimitError> {
        let width = |resolution| length(Algorithm::SlidingCounters, "resolution", resolution);
        let resolution = resolution.map(width).transpose()?;
        Limit::new(Spec::SlidingCounters { rate, resolution, edge: Edge::Strict })
    }

    /// Creates `sliding-window`: an estimate from the counts of two windows.
    ///
    /// # Errors
    /// Fails as [`Limit::request_window`] does.
    pub fn sliding_window(rate: Rate) -> Result<Limit, LimitError> {
        Limit::new(Spec::SlidingWindow { rate })
    }

    /// Creates `ar1`: a level of at most `max`, which is divided by `decay` in each `resolution`.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate_core::{Decimal, Limit};
    ///
    /// let limit = Limit::ar1(Decimal::from(10), Decimal::from(2), Duration::from_secs(1))?;
    /// assert_eq!(limit, "ar1 max 10 decay 2 resolution 1s".parse()?);
    /// # Ok::<(), tollgate_core::LimitError>(())
    /// ```
    ///
    /// # Errors
    /// Fails if `max` is not from 1 to 1000000, `decay` not from 1.001 to 4294967295, `resolution`
    /// zero or no whole number of microseconds, or if a full level takes longer than 2^51 µs to
    /// fade.
    pub fn ar1(max: Decimal, decay: Decimal, resolution: Duration) -> Result<Limit, LimitError> {
        let resolution = length(Algorithm::Ar1, "resolution", resolution)?;
        Limit::new(Spec::Ar1 { max, decay, resolution })
    }

    /// Creates `concurrency`: at most `leases` held at once, each for `ttl` unless it is renewed.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate_core::Limit;
    ///
    /// let limit = Limit::concurrency(20, Duration::from_secs(30))?;
    /// assert_eq!(limit, "concurrency 20 ttl 30s".parse()?);
    /// # Ok::<(), tollgate_core::LimitError>(())
    /// ```
    ///
    /// # Errors
    /// Fails if a number is zero, or `ttl` is longer than 2^51 µs or no whole number of
    /// microseconds.
    pub fn concurrency(leases: u32, ttl: Duration) -> Result<Limit, LimitError> {
        let ttl = length(Algorithm::Concurrency, "ttl", ttl)?;
        Limit::new(Spec::Concurrency { leases, ttl })
    }

    /// Creates `unlimited`, which allows everything.
    #[must_use]
    pub fn unlimited() -> Limit {
        Limit { line: Line::new(Spec::Unlimited), rule: Rule::Unlimited }
    }

    /// Returns the limit that counts the subject of this name: `per NAME`.
    ///
    /// # Errors
    /// Fails if the name is not 1 to 64 letters, digits, `-`, `_` and `.`.
    pub fn with_per(mut self, name: &str) -> Result<Limit, LimitError> {
        self.line.per = None;
        let in_line = |error: LimitError| error.in_line(&format!("{self} per {name}"));
        self.line.per = Some(line::per(name).map_err(in_line)?);
        Ok(self)
    }

    /// Returns the limit that takes the cost of this unit: `of UNIT`.
    ///
    /// # Errors
    /// Fails if the unit is not 1 to 64 letters, digits, `-`, `_` and `.`.
    pub fn with_unit(mut self, unit: &str) -> Result<Limit, LimitError> {
        self.line.unit = None;
        let in_line = |error: LimitError| error.in_line(&format!("{self} of {unit}"));
        self.line.unit = Some(line::unit(unit).map_err(in_line)?);
        Ok(self)
    }

    /// Returns the limit that denied attempts count in, too: `count-denied`.
    ///
    /// # Errors
    /// Fails for `sliding-log`, whose state denied attempts would make grow.
    pub fn with_count_denied(self) -> Result<Limit, LimitError> {
        Limit::from_line(Line { count_denied: true, ..self.line })
    }
}

impl Rate {
    /// Creates a rate with a period of any length.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate_core::{Limit, Rate};
    ///
    /// let limit = Limit::sliding_log(Rate::new(5, Duration::from_millis(1500))?)?;
    /// assert_eq!(limit.to_string(), "sliding-log 5/1500ms");
    /// assert!(Rate::new(5, Duration::from_nanos(1)).is_err());
    /// # Ok::<(), tollgate_core::LimitError>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the period is no whole number of microseconds. Whether there is such a limit is
    /// checked when the limit is made.
    pub fn new(count: u32, period: Duration) -> Result<Rate, LimitError> {
        let in_line = |error: LimitError| error.in_line(&format!("{count}/{period:?}"));
        Ok(Rate { count, period: span("period", period).map_err(in_line)? })
    }

    /// Creates the rate `count/s`.
    #[must_use]
    pub const fn per_second(count: u32) -> Rate {
        Rate { count, period: Span::from_micros(1_000_000) }
    }

    /// Creates the rate `count/min`.
    #[must_use]
    pub const fn per_minute(count: u32) -> Rate {
        Rate { count, period: Span::from_micros(60_000_000) }
    }

    /// Creates the rate `count/h`.
    #[must_use]
    pub const fn per_hour(count: u32) -> Rate {
        Rate { count, period: Span::from_micros(3_600_000_000) }
    }

    /// Creates the rate `count/day`: 24 hours, without a calendar.
    #[must_use]
    pub const fn per_day(count: u32) -> Rate {
        Rate { count, period: Span::from_micros(86_400_000_000) }
    }
}

impl Period {
    /// Creates a period of any length, with windows back to back from the epoch.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate_core::{Limit, Period};
    ///
    /// let limit = Limit::fixed_window(100, Period::new(Duration::from_secs(90))?)?;
    /// assert_eq!(limit.to_string(), "fixed-window 100/90s");
    /// # Ok::<(), tollgate_core::LimitError>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the length is no whole number of microseconds.
    pub fn new(length: Duration) -> Result<Period, LimitError> {
        let in_line = |error: LimitError| error.in_line(&format!("period {length:?}"));
        span("period", length).map(Period::Length).map_err(in_line)
    }
}

/// Converts a length of time that an algorithm has. A line with it cannot be printed, so that the
/// error has only this part of it.
fn length(algorithm: Algorithm, field: &str, length: Duration) -> LimitResult<Span> {
    let in_line = |error: LimitError| error.in_line(&format!("{algorithm} {field} {length:?}"));
    span(field, length).map_err(in_line)
}

fn span(field: &str, length: Duration) -> LimitResult<Span> {
    let whole = length.subsec_nanos().is_multiple_of(1_000);
    let micros = u64::try_from(length.as_micros()).ok().filter(|_| whole);
    micros.map(Span::from_micros).ok_or_else(|| {
        let expected = "a whole number of microseconds, at most 2^51 (71 years)";
        LimitError::new(field, format_args!("{length:?}"), expected)
    })
}
