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
const MAX_WAIT: u32 = 256;

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
            if turns < MAX_WAIT {
                turns = turns.saturating_mul(2);
            } else {
                yield_now();
            }
        }
    }
}

/// What it is made of.
#[cfg(not(all(test, loom)))]
mod parts {
    pub(super) use spin::mutex::{SpinMutex, SpinMutexGuard};
    pub(super) use std::sync::atomic::{AtomicU64, Ordering};
}

/// The same in a form that tries out every order of events.
#[cfg(all(test, loom))]
mod parts {
    pub(super) use loom::sync::MutexGuard as SpinMutexGuard;
    pub(super) use loom::sync::atomic::{AtomicU64, Ordering};

    pub(super) struct SpinMutex<T>(loom::sync::Mutex<T>);

    impl<T> SpinMutex<T> {
        pub(super) fn new(value: T) -> SpinMutex<T> {
            SpinMutex(loom::sync::Mutex::new(value))
        }

        /// Waits instead of failing: how long someone spins makes no difference to what is true.
        pub(super) fn try_lock(&self) -> Option<SpinMutexGuard<'_, T>> {
            self.0.lock().ok()
        }

        pub(super) fn is_locked(&self) -> bool {
            false
        }
    }
}

#[cfg(all(test, loom))]
mod tests {
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicBool, Ordering};
    use loom::thread;

    use super::Lock;

    /// The value, and how often it may have changed by then.
    fn look(lock: &Lock<u32>) -> (u32, u64) {
        let guard = lock.lock();
        let value = *guard;
        (value, lock.unlock_unchanged(guard))
    }

    #[test]
    fn whoever_knows_of_a_change_finds_it_counted() {
        loom::model(|| {
            let shared = Arc::new((Lock::new(0), AtomicBool::new(false)));
            let (_, seen) = look(&shared.0);
            let threads = [true, false].map(|changes| {
                let shared = shared.clone();
                thread::spawn(move || {
                    let (lock, done) = &*shared;
                    if changes {
                        *lock.lock() = 1;
                        done.store(true, Ordering::Release);
                    } else {
                        look(lock);
                    }
                })
            });
            let (lock, done) = &*shared;
            let changed = done.load(Ordering::Acquire);
            assert!(!changed || lock.changes() != seen);
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert_ne!(lock.changes(), seen);
        });
    }

    #[test]
    fn the_same_count_is_the_same_value() {
        loom::model(|| {
            let lock = Arc::new(Lock::new(0));
            let threads = [1, 2].map(|value| {
                let lock = lock.clone();
                thread::spawn(move || {
                    *lock.lock() = value;
                    look(&lock)
                })
            });
            let mut seen = vec![look(&lock), look(&lock)];
            seen.extend(threads.into_iter().map(|thread| thread.join().unwrap()));
            seen.push(look(&lock));
            for (value, changes) in &seen {
                assert!(seen.iter().all(|(other, at)| at != changes || other == value));
            }
        });
    }
}
