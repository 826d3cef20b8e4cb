//! The lock of a shard.

use std::hint::spin_loop;
use std::thread::yield_now;

use parts::{AtomicU64, Ordering, SpinMutex, SpinMutexGuard};

/// How long a thread first stands back when it finds the lock taken, in turns of the waiting loop.
///
/// Half a microsecond. Whoever holds the lock has the data in its cache and goes on to the next
/// check of the same key in a tenth of that: two threads that hammer one key get more done if they
/// take turns of several checks than if every check moves the data from one core to the other.
const FIRST_WAIT: u32 = 32;
/// How long it waits before it lets another thread have the processor: the holder may need it.
const LONGEST_WAIT: u32 = 256;

/// A lock that is held for some nanoseconds at a time, so that waiting is cheaper than sleeping.
///
/// It counts how often its value may have changed. Whoever has seen the value under the lock, and
/// finds the same count later, knows that it is still the same without taking the lock again.
pub(super) struct Lock<T> {
    changes: AtomicU64,
    value: SpinMutex<T>,
}

pub(super) type Guard<'a, T> = SpinMutexGuard<'a, T>;

impl<T> Lock<T> {
    pub(super) fn new(value: T) -> Lock<T> {
        Lock { changes: AtomicU64::new(1), value: SpinMutex::new(value) }
    }

    #[inline]
    pub(super) fn lock(&self) -> Guard<'_, T> {
        self.try_lock().unwrap_or_else(|| self.wait())
    }

    /// The value, if nobody has it.
    #[inline]
    pub(super) fn try_lock(&self) -> Option<Guard<'_, T>> {
        let guard = self.value.try_lock()?;
        // Counted before anything can change, and by the holder alone.
        self.changes.store(self.changes().wrapping_add(1), Ordering::Relaxed);
        Some(guard)
    }

    /// How often the value may have changed; never zero.
    ///
    /// Relaxed is enough. Nothing is read on the strength of it but what the reader has seen itself,
    /// and whoever knows that a change was made also finds it counted.
    #[inline]
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// Lets go of a value that was not changed after all. Answers how often it had been before.
    #[inline]
    pub(super) fn unlock_unchanged(&self, guard: Guard<'_, T>) -> u64 {
        let before = self.changes().wrapping_sub(1);
        self.changes.store(before, Ordering::Relaxed);
        drop(guard);
        before
    }

    #[inline]
    pub(super) fn is_taken(&self) -> bool {
        self.value.is_locked()
    }

    #[cold]
    fn wait(&self) -> Guard<'_, T> {
        let mut turns = FIRST_WAIT;
        loop {
            (0..turns).for_each(|_| spin_loop());
            // Looking does not take the lock's line away from its holder, as trying would.
            if !self.is_taken()
                && let Some(guard) = self.try_lock()
            {
                return guard;
            }
            if turns < LONGEST_WAIT {
                turns = turns.saturating_mul(2);
            } else {
                yield_now();
            }
        }
    }
}

mod parts {
    pub(super) use spin::mutex::{SpinMutex, SpinMutexGuard};
    pub(super) use std::sync::atomic::{AtomicU64, Ordering};
}
