//! The time of this machine: a fast counter that is synchronized with the system's clocks once a second.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::counter::Counter;
use super::course::{Course, Reading};

/// How long the counter is used before it is synchronized with the system's clocks again, in
/// microseconds.
const SYNC_INTERVAL: u64 = 1_000_000;

/// [`SYNC_INTERVAL`] plus the maximum difference between the counters of two processors.
const SYNC_INTERVAL_AND_SKEW: u64 = SYNC_INTERVAL + 1_000;

type Wall = Box<dyn Fn() -> SystemTime + Send + Sync>;

pub(super) struct SystemClock {
    counter: Counter,
    wall: Wall,
    uptime: Uptime,
    course: Mutex<Course>,
    /// Offset from the counter to the time, while time runs evenly.
    offset: AtomicU64,
    /// Counter value up to which the offset holds. Zero while time does not run evenly.
    even_until: AtomicU64,
}

impl SystemClock {
    pub(super) fn start(wall: Wall) -> SystemClock {
        let (counter, uptime) = (Counter::start(), Uptime::start());
        let course = Course::start(read(&counter, &uptime, &wall));
        let system = SystemClock {
            counter,
            wall,
            uptime,
            course: Mutex::new(course),
            offset: AtomicU64::new(0),
            even_until: AtomicU64::new(0),
        };
        system.sync();
        system
    }

    #[inline]
    pub(super) fn micros(&self) -> u64 {
        let count = self.counter.micros();
        // Also if the counter has gone back, as it may when a machine resumes.
        let left = self.even_until.load(Ordering::Acquire).wrapping_sub(count);
        if left > SYNC_INTERVAL_AND_SKEW {
            return self.sync();
        }
        count.saturating_add(self.offset.load(Ordering::Relaxed))
    }

    /// Returns how far the wall clock is behind, if that is a fault.
    pub(super) fn wall_behind(&self) -> Option<Duration> {
        self.sync();
        let course = self.course.lock().unwrap_or_else(PoisonError::into_inner);
        course.behind().map(Duration::from_micros)
    }

    /// Returns the time by the course, which is synchronized if that is due.
    #[cold]
    fn sync(&self) -> u64 {
        // A course is changed in one step that cannot panic.
        let mut course = self.course.lock().unwrap_or_else(PoisonError::into_inner);
        let mut count = self.counter.micros();
        if course.is_due(count, SYNC_INTERVAL) {
            let reading = read(&self.counter, &self.uptime, &self.wall);
            course.sync(reading);
            count = reading.count;
        }
        let time = course.time_at(count);
        if course.is_even_from(count) {
            self.offset.store(time.saturating_sub(count), Ordering::Relaxed);
            let until = course.count().saturating_add(SYNC_INTERVAL);
            self.even_until.store(until, Ordering::Release);
        } else {
            self.even_until.store(0, Ordering::Release);
        }
        time
    }
}

/// Reads the clocks right after each other, the wall clock first: a thread that is suspended in between
/// must not set the time ahead.
fn read(counter: &Counter, uptime: &Uptime, wall: &Wall) -> Reading {
    let since = wall().duration_since(UNIX_EPOCH).unwrap_or_default();
    let wall = u64::try_from(since.as_micros()).unwrap_or(u64::MAX);
    Reading { wall, uptime: uptime.micros(), count: counter.micros() }
}

/// The time that the machine has been up, sleep included where the system tells.
struct Uptime(Instant);

impl Uptime {
    fn start() -> Uptime {
        Uptime(Instant::now())
    }

    #[cfg(target_os = "linux")]
    fn micros(&self) -> u64 {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let micros = i128::from(time.tv_sec) * 1_000_000 + i128::from(time.tv_nsec / 1_000);
        u64::try_from(micros).unwrap_or_else(|_| self.since_start())
    }

    #[cfg(not(target_os = "linux"))]
    fn micros(&self) -> u64 {
        self.since_start()
    }

    fn since_start(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}
