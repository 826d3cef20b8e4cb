//! Clocks.

mod counter;
mod course;
mod system;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use tollgate_core::Time;

use system::SystemClock;

/// The clock of a store. Cheap to clone; clones are the same clock.
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Clock, Limiter, MemoryStore, Policy};
///
/// let clock = Clock::manual();
/// let store = MemoryStore::builder().clock(clock.clone()).build()?;
/// let limiter = store.limiter("api", ["gcra 1/s burst 1"])?;
///
/// assert!(limiter.check("a")?.allowed);
/// assert!(!limiter.check("a")?.allowed);
/// clock.advance(Duration::from_secs(1));
/// assert!(limiter.check("a")?.allowed);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Clock(Source);

#[derive(Clone)]
enum Source {
    System(Arc<SystemClock>),
    /// Microseconds since the Unix epoch.
    Manual(Arc<AtomicU64>),
    Custom(Arc<dyn Fn() -> Time + Send + Sync>),
}

impl Clock {
    /// Creates a clock with the time of this machine: wall time at the start plus the time since, sleep
    /// included.
    ///
    /// It follows the wall clock, and never steps back. Where they differ it runs up to 5% faster or slower
    /// until they agree. If the wall clock is more than a minute ahead, this clock leaps there once that
    /// has held for a minute: a wall clock that is wrong for a moment does no harm.
    #[must_use]
    pub fn system() -> Clock {
        Clock::with_wall(SystemTime::now)
    }

    /// Creates a clock as [`system`](Clock::system) does, with another wall clock.
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    /// use tollgate::{Clock, Time};
    ///
    /// let clock = Clock::with_wall(|| SystemTime::UNIX_EPOCH + Duration::from_secs(1));
    /// assert_eq!(clock.now().as_micros() / 1_000_000, 1);
    /// ```
    #[must_use]
    pub fn with_wall(wall: impl Fn() -> SystemTime + Send + Sync + 'static) -> Clock {
        Clock(Source::System(Arc::new(SystemClock::start(Box::new(wall)))))
    }

    /// Creates a clock that stands still until it is [advanced](Clock::advance) or
    /// [set](Clock::set), for tests and simulations. It starts at the Unix epoch.
    #[must_use]
    pub fn manual() -> Clock {
        Clock(Source::Manual(Arc::new(AtomicU64::new(0))))
    }

    /// Creates a clock that returns what a function returns, for simulations and for platforms with a time
    /// of their own.
    ///
    /// ```
    /// use tollgate::{Clock, Time};
    ///
    /// let clock = Clock::from_fn(|| Time::EPOCH);
    /// assert_eq!(clock.now(), Time::EPOCH);
    /// ```
    #[must_use]
    pub fn from_fn(now: impl Fn() -> Time + Send + Sync + 'static) -> Clock {
        Clock(Source::Custom(Arc::new(now)))
    }

    /// Returns the current time.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Time {
        let micros = match &self.0 {
            Source::System(system) => system.micros(),
            Source::Manual(micros) => micros.load(Ordering::Acquire),
            Source::Custom(now) => return now(),
        };
        Time::from_micros(micros).unwrap_or(Time::MAX)
    }

    /// Returns how far the wall clock is behind this clock, if it has been more than a minute behind and
    /// does not agree again yet. This clock then runs slower, and windows by the calendar begin and end
    /// too early by the wall clock.
    #[must_use]
    pub fn wall_behind(&self) -> Option<Duration> {
        match &self.0 {
            Source::System(system) => system.wall_behind(),
            Source::Manual(_) | Source::Custom(_) => None,
        }
    }

    /// Moves a manual clock forward. Does nothing to a system clock.
    pub fn advance(&self, by: Duration) {
        if let Source::Manual(micros) = &self.0 {
            let by = u64::try_from(by.as_micros()).unwrap_or(u64::MAX);
            let later = |now: u64| Some(now.saturating_add(by).min(Time::MAX.as_micros()));
            let _ = micros.fetch_update(Ordering::AcqRel, Ordering::Acquire, later);
        }
    }

    /// Sets a manual clock, forward or back. Does nothing to a system clock.
    pub fn set(&self, to: Time) {
        if let Source::Manual(micros) = &self.0 {
            micros.store(to.as_micros(), Ordering::Release);
        }
    }
}

impl Default for Clock {
    fn default() -> Clock {
        Clock::system()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.0 {
            Source::System(_) => "system",
            Source::Manual(_) => "manual",
            Source::Custom(_) => "custom",
        };
        write!(f, "Clock({name}, {:?})", self.now())
    }
}
