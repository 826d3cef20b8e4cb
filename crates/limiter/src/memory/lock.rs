//! The lock of a shard.

use std::hint::spin_loop;
use std::thread::yield_now;

use spin::mutex::{SpinMutex, SpinMutexGuard};

/// How long a thread first stands back when it finds the lock taken, in turns of the waiting loop.
///
/// Half a microsecond. Whoever holds the lock has the data in its cache and goes on to the next
/// check of the same key in a tenth of that: two threads that hammer one key get more done if they
/// take turns of several checks than if every check moves the data from one core to the other.
const FIRST_WAIT: u32 = 32;
/// How long it waits before it lets another thread have the processor: the holder may need it.
const LONGEST_WAIT: u32 = 256;

/// A lock that is held for some nanoseconds at a time, so that waiting is cheaper than sleeping.
pub(super) struct Lock<T>(SpinMutex<T>);

pub(super) type Guard<'a, T> = SpinMutexGuard<'a, T>;

impl<T> Lock<T> {
    pub(super) fn new(value: T) -> Lock<T> {
        Lock(SpinMutex::new(value))
    }

    #[inline]
    pub(super) fn lock(&self) -> Guard<'_, T> {
        self.try_lock().unwrap_or_else(|| self.wait())
    }

    /// The value, if nobody has it.
    #[inline]
    pub(super) fn try_lock(&self) -> Option<Guard<'_, T>> {
        self.0.try_lock()
    }

    #[inline]
    pub(super) fn is_taken(&self) -> bool {
        self.0.is_locked()
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
