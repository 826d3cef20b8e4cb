//! What time it is.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tollgate_core::Time;

/// How long, in microseconds, the counter is trusted before it is set by the system's clocks again.
const TRUSTED: u64 = 1_000_000;

/// The same with what the counters of two processors may differ by.
const TRUSTED_AND_SKEW: u64 = TRUSTED + 1_000;

/// Where a store takes the time from. Cheap to clone; clones are the same clock.
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Clock, Limiter, MemoryStore, Policy};
///
/// let clock = Clock::manual();
/// let store = MemoryStore::builder().clock(clock.clone()).build()?;
/// let limiter = Limiter::parse(["gcra 1/s burst 1"])?.with_store(store);
///
/// assert!(limiter.check("a")?.allowed);
/// assert!(!limiter.check("a")?.allowed);
/// clock.advance(Duration::from_secs(1));
/// assert!(limiter.check("a")?.allowed);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Clock(Kind);

#[derive(Clone)]
enum Kind {
    System(Arc<System>),
    /// Microseconds since the epoch.
    Manual(Arc<AtomicU64>),
}

impl Clock {
    /// The time of this machine: wall time at start plus monotonic time since. Setting the wall
    /// clock back changes nothing; setting it forward is followed.
    #[must_use]
    pub fn system() -> Clock {
        Clock(Kind::System(Arc::new(System::start())))
    }

    /// A clock that stands still until it is [advanced](Clock::advance) or [set](Clock::set), for
    /// tests and simulations. It starts at the epoch.
    #[must_use]
    pub fn manual() -> Clock {
        Clock(Kind::Manual(Arc::new(AtomicU64::new(0))))
    }

    /// What time it is.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Time {
        let micros = match &self.0 {
            Kind::System(system) => system.micros(),
            Kind::Manual(micros) => micros.load(Ordering::Acquire),
        };
        Time::from_micros(micros).unwrap_or(Time::MAX)
    }

    /// Moves a manual clock forward. Any other goes its own way.
    pub fn advance(&self, by: Duration) {
        if let Kind::Manual(micros) = &self.0 {
            let by = u64::try_from(by.as_micros()).unwrap_or(u64::MAX);
            let later = |now: u64| Some(now.saturating_add(by).min(Time::MAX.as_micros()));
            let _ = micros.fetch_update(Ordering::AcqRel, Ordering::Acquire, later);
        }
    }

    /// Sets a manual clock, also back. Any other goes its own way.
    pub fn set(&self, to: Time) {
        if let Kind::Manual(micros) = &self.0 {
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
            Kind::System(_) => "system",
            Kind::Manual(_) => "manual",
        };
        write!(f, "Clock({name}, {:?})", self.now())
    }
}

/// A fast counter that is set by the system's clocks once a second: the counter alone would drift.
struct System {
    counter: Counter,
    started: Instant,
    /// What to add to the counter.
    offset: AtomicU64,
    /// When the counter is to be set again.
    set_at: AtomicU64,
    /// What to add to the monotonic time since the start; only ever raised.
    wall: AtomicU64,
}

impl System {
    fn start() -> System {
        let system = System {
            counter: Counter::start(),
            started: Instant::now(),
            offset: AtomicU64::new(0),
            set_at: AtomicU64::new(0),
            wall: AtomicU64::new(wall_micros()),
        };
        system.set();
        system
    }

    #[inline]
    fn micros(&self) -> u64 {
        let mut count = self.counter.micros();
        // Also if the counter has gone back, as it may when a machine wakes up.
        if self.set_at.load(Ordering::Relaxed).wrapping_sub(count) > TRUSTED_AND_SKEW {
            self.set();
            count = self.counter.micros();
        }
        count.saturating_add(self.offset.load(Ordering::Relaxed))
    }

    /// Reads the clocks one right after the other, and the wall clock first: whoever is held up in
    /// between must not be put ahead by it.
    #[cold]
    fn set(&self) {
        let wall = wall_micros();
        let since = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        let count = self.counter.micros();
        let ahead = wall.saturating_sub(since);
        let wall = self.wall.fetch_max(ahead, Ordering::Relaxed).max(ahead);
        self.offset.store(wall.saturating_add(since).saturating_sub(count), Ordering::Relaxed);
        self.set_at.store(count.saturating_add(TRUSTED), Ordering::Relaxed);
    }
}

fn wall_micros() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// Microseconds since some moment, by the processor's own counter.
#[cfg(feature = "quanta")]
struct Counter {
    clock: quanta::Clock,
    start: u64,
    /// Microseconds for each count, in 2^-64.
    scale: u64,
}

#[cfg(feature = "quanta")]
impl Counter {
    fn start() -> Counter {
        let clock = quanta::Clock::new();
        // One multiplication by this instead of two and a division.
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

/// Over how many counts the scale is taken, as a power of two: some minutes, and to one part in a
/// million millions.
#[cfg(feature = "quanta")]
const SCALE_BITS: u32 = 40;

#[cfg(feature = "quanta")]
fn high(product: u128) -> u64 {
    (product >> 64) as u64
}

/// Microseconds since some moment, by the system's monotonic clock.
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
