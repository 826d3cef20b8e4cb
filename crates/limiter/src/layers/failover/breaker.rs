//! The circuit breaker: whether the store is asked at all.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The breaker opens after so many failures in a row,
const FAILURES_TO_OPEN: u32 = 5;
/// if the store has not answered for so long. Many operations that wait for one slow reply are no outage.
const MIN_OUTAGE: Duration = Duration::from_millis(100);
/// While it is open, a task asks the store so often whether it is back.
pub(super) const PROBE_INTERVAL: Duration = Duration::from_millis(250);
/// If no task has for so long, as when its runtime has ended, an operation is let through in its place.
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);

/// Whether the store is asked.
#[derive(Debug)]
pub(super) struct Breaker {
    is_open: AtomicBool,
    /// Number of failures since the last success.
    failures: AtomicU32,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// When the first of the failures in a row began; `None` if the last operation succeeded.
    failing_since: Option<Instant>,
    /// From when on an operation is let through.
    probe_at: Instant,
}

/// The permission to ask the store once.
#[must_use]
pub(super) struct Permit<'b> {
    breaker: &'b Breaker,
    asked: Instant,
}

impl Breaker {
    pub(super) fn new() -> Breaker {
        Breaker {
            is_open: AtomicBool::new(false),
            failures: AtomicU32::new(0),
            state: Mutex::new(State { failing_since: None, probe_at: Instant::now() }),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Relaxed)
    }

    /// Returns a permit for an operation, or `None` if the store is not to be asked now.
    pub(super) fn permit(&self) -> Option<Permit<'_>> {
        let asked = Instant::now();
        if self.is_open() {
            let mut state = self.lock();
            if asked < state.probe_at {
                return None;
            }
            state.probe_at = asked + PROBE_TIMEOUT;
        }
        Some(Permit { breaker: self, asked })
    }

    /// Returns a permit to find out whether the store is back.
    pub(super) fn probe(&self) -> Permit<'_> {
        let asked = Instant::now();
        self.lock().probe_at = asked + PROBE_TIMEOUT;
        Permit { breaker: self, asked }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit<'_> {
    /// Returns whether the store has failed since it was available last.
    pub(super) fn follows_failure(&self) -> bool {
        self.breaker.failures.load(Ordering::Relaxed) > 0
    }

    /// Notes that the store is available again.
    pub(super) fn succeeded(self) {
        let mut state = self.breaker.lock();
        state.failing_since = None;
        self.breaker.failures.store(0, Ordering::Relaxed);
        self.breaker.is_open.store(false, Ordering::Relaxed);
    }

    /// Notes that the store has not answered.
    pub(super) fn failed(self) {
        let mut state = self.breaker.lock();
        let since = *state.failing_since.get_or_insert(self.asked);
        let failures = self.breaker.failures.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        let now = Instant::now();
        if failures >= FAILURES_TO_OPEN && now.duration_since(since) >= MIN_OUTAGE {
            let was_open = self.breaker.is_open.swap(true, Ordering::Relaxed);
            if !was_open {
                state.probe_at = now + PROBE_TIMEOUT;
            }
        }
    }
}
