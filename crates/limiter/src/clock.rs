//! Clocks.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tollgate_core::Time;

/// How long the counter is used before it is synchronized with the system's clocks again, in
/// microseconds.
const SYNC_INTERVAL: u64 = 1_000_000;

/// [`SYNC_INTERVAL`] plus the maximum difference between the counters of two processors.
const SYNC_INTERVAL_AND_SKEW: u64 = SYNC_INTERVAL + 1_000;

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
    /// Creates a clock with the time of this machine: wall time at the start plus monotonic time
    /// since. It ignores it when the wall clock is set back, and follows when it is set forward.
    #[must_use]
    pub fn system() -> Clock {
        Clock(Source::System(Arc::new(SystemClock::start())))
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

/// A fast counter that is synchronized with the system's clocks once a second: the counter alone
/// would drift.
struct SystemClock {
    counter: Counter,
    started: Instant,
    /// Offset from the counter to the time.
    offset: AtomicU64,
    /// Counter value at which the next synchronization is due.
    sync_at: AtomicU64,
    /// Offset from the monotonic time since the start to the time. It only ever grows.
    wall: AtomicU64,
}

impl SystemClock {
    fn start() -> SystemClock {
        let system = SystemClock {
            counter: Counter::start(),
            started: Instant::now(),
            offset: AtomicU64::new(0),
            sync_at: AtomicU64::new(0),
            wall: AtomicU64::new(wall_micros()),
        };
        system.sync();
        system
    }

    #[inline]
    fn micros(&self) -> u64 {
        let mut count = self.counter.micros();
        // Also if the counter has gone back, as it may when a machine resumes.
        if self.sync_at.load(Ordering::Relaxed).wrapping_sub(count) > SYNC_INTERVAL_AND_SKEW {
            self.sync();
            count = self.counter.micros();
        }
        count.saturating_add(self.offset.load(Ordering::Relaxed))
    }

    /// Reads the clocks right after each other, the wall clock first: a thread that is suspended in
    /// between must not set the time ahead.
    #[cold]
    fn sync(&self) {
        let wall = wall_micros();
        let since = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        let count = self.counter.micros();
        let ahead = wall.saturating_sub(since);
        let wall = self.wall.fetch_max(ahead, Ordering::Relaxed).max(ahead);
        self.offset.store(wall.saturating_add(since).saturating_sub(count), Ordering::Relaxed);
        self.sync_at.store(count.saturating_add(SYNC_INTERVAL), Ordering::Relaxed);
    }
}

fn wall_micros() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// Microseconds since the start, by the processor's time stamp counter.
#[cfg(feature = "quanta")]
struct Counter {
    clock: quanta::Clock,
    start: u64,
    /// Microseconds per count, in units of 2^-64.
    scale: u64,
}

#[cfg(feature = "quanta")]
impl Counter {
    fn start() -> Counter {
        let clock = quanta::Clock::new();
        // A multiplication by the scale replaces two multiplications and a division.
        let nanos = clock.delta_as_nanos(0, 1 << SCALE_BITS);
        let scale = (u128::from(nanos) << (u64::BITS - SCALE_BITS)) / 1_000;
        let scale = u64::try_from(scale).unwrap_or(u64::MAX);
        Counter { start: clock.raw(), scale, clock }
    }

    #[inline]
    fn micros(&self) -> u64 {
        let count = self.clock.raw().saturating_sub(self.start);
        high(u128::from(count).wrapping_mul(u128::from(self.scale)))
    }
}

/// Binary logarithm of the number of counts that the scale is computed over: some minutes, which gives
/// a precision of one part in 10^12.
#[cfg(feature = "quanta")]
const SCALE_BITS: u32 = 40;

#[cfg(feature = "quanta")]
fn high(product: u128) -> u64 {
    (product >> 64) as u64
}

/// Microseconds since the start, by the system's monotonic clock.
#[cfg(not(feature = "quanta"))]
struct Counter(Instant);

#[cfg(not(feature = "quanta"))]
impl Counter {
    fn start() -> Counter {
        Counter(Instant::now())
    }

    #[inline]
    fn micros(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}
