//! The lock of a shard: of the memory store, and of the tables of the layers.

use std::hint::spin_loop;
use std::ops::{Deref, DerefMut};
use std::thread::yield_now;

use imp::{AtomicU64, Ordering, SpinMutex, SpinMutexGuard, fence};

/// Number of spins before a thread that found the lock taken tries again for the first time.
///
/// One to four microseconds, by processor. The holder has the data in its cache and starts the next
/// check of the same key in a fraction of that: two threads that hammer one key get more done if they
/// alternate every few dozen checks than if every check moves the data from one core to the other.
/// With 32 they took a quarter longer; threads that do other work between checks take as long with 4
/// as with 128.
const FIRST_SPINS: u32 = 64;
/// Number of spins after which a thread yields instead: the holder may need the processor.
const MAX_SPINS: u32 = 256;

/// A lock that is held for nanoseconds at a time, so spinning is cheaper than sleeping.
///
/// It has a version that counts how often the value may have changed. A thread that has read the
/// value under the lock, and finds the same version later, knows without locking that the value is
/// still the same.
pub(crate) struct Lock<T> {
    version: AtomicU64,
    value: SpinMutex<T>,
}

/// The locked value, until this is dropped.
///
/// Only who asks to change the value counts the version up. If everyone who locks it did, two threads
/// that only read one denied key would make each other read it again, forever.
pub(crate) struct Guard<'a, T> {
    lock: &'a Lock<T>,
    value: SpinMutexGuard<'a, T>,
}

impl<T> Lock<T> {
    pub(crate) fn new(value: T) -> Lock<T> {
        Lock { version: AtomicU64::new(1), value: SpinMutex::new(value) }
    }

    #[inline]
    pub(crate) fn lock(&self) -> Guard<'_, T> {
        self.try_lock().unwrap_or_else(|| self.lock_contended())
    }

    /// Locks the value, unless it is locked already.
    #[inline]
    pub(crate) fn try_lock(&self) -> Option<Guard<'_, T>> {
        Some(Guard { lock: self, value: self.value.try_lock()? })
    }

    /// Returns how often the value may have changed. Never zero.
    ///
    /// Relaxed is enough. A reader relies on it only for a value that it has read itself, and a
    /// thread that knows of a change also sees the version that the change has made.
    #[inline]
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    /// As [`version`](Lock::version), after everything that this thread has read before: if that came with a change of
    /// the value, the version is that of the change.
    #[inline]
    pub(crate) fn version_after_reads(&self) -> u64 {
        fence(Ordering::Acquire);
        self.version()
    }

    #[inline]
    pub(crate) fn is_locked(&self) -> bool {
        self.value.is_locked()
    }

    #[cold]
    fn lock_contended(&self) -> Guard<'_, T> {
        let mut spins = FIRST_SPINS;
        loop {
            (0..spins).for_each(|_| spin_loop());
            // Reading does not take the cache line away from the holder, as trying to lock would.
            if !self.is_locked()
                && let Some(guard) = self.try_lock()
            {
                return guard;
            }
            if spins < MAX_SPINS {
                spins = spins.saturating_mul(2);
            } else {
                yield_now();
            }
        }
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // Before anything can change, and only by the holder.
        self.lock.version.store(self.lock.version().wrapping_add(1), Ordering::Relaxed);
        &mut self.value
    }
}

/// The primitives of the lock.
#[cfg(not(all(test, loom)))]
mod imp {
    pub(super) use spin::mutex::{SpinMutex, SpinMutexGuard};
    pub(super) use std::sync::atomic::{AtomicU64, Ordering, fence};
}

/// The primitives of the lock under loom, which explores every order of events.
#[cfg(all(test, loom))]
mod imp {
    pub(super) use loom::sync::MutexGuard as SpinMutexGuard;
    pub(super) use loom::sync::atomic::{AtomicU64, Ordering, fence};

    pub(super) struct SpinMutex<T>(loom::sync::Mutex<T>);

    impl<T> SpinMutex<T> {
        pub(super) fn new(value: T) -> SpinMutex<T> {
            SpinMutex(loom::sync::Mutex::new(value))
        }

        /// Blocks instead of failing: how long a thread spins has no effect on correctness.
        pub(super) fn try_lock(&self) -> Option<SpinMutexGuard<'_, T>> {
            self.0.lock().ok()
        }

        pub(super) fn is_locked(&self) -> bool {
            false
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Lock;

    #[test]
    fn only_a_change_makes_a_new_version() {
        let lock = Lock::new(0);
        let seen = lock.version();
        assert_eq!((*lock.lock(), lock.version()), (0, seen));
        *lock.lock() = 1;
        assert_ne!(lock.version(), seen);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicBool, Ordering};
    use loom::thread;

    use super::Lock;

    /// Reads the value and its version.
    fn read(lock: &Lock<u32>) -> (u32, u64) {
        let guard = lock.lock();
        (*guard, lock.version())
    }

    #[test]
    fn a_known_change_is_visible_in_the_version() {
        loom::model(|| {
            let shared = Arc::new((Lock::new(0), AtomicBool::new(false)));
            let (_, seen) = read(&shared.0);
            let threads = [true, false].map(|changes| {
                let shared = shared.clone();
                thread::spawn(move || {
                    let (lock, done) = &*shared;
                    if changes {
                        *lock.lock() = 1;
                        done.store(true, Ordering::Release);
                    } else {
                        read(lock);
                    }
                })
            });
            let (lock, done) = &*shared;
            let changed = done.load(Ordering::Acquire);
            assert!(!changed || lock.version() != seen);
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert_ne!(lock.version(), seen);
        });
    }

    #[test]
    fn the_same_version_is_the_same_value() {
        loom::model(|| {
            let lock = Arc::new(Lock::new(0));
            let threads = [1, 2].map(|value| {
                let lock = lock.clone();
                thread::spawn(move || {
                    *lock.lock() = value;
                    read(&lock)
                })
            });
            let mut seen = vec![read(&lock), read(&lock)];
            seen.extend(threads.into_iter().map(|thread| thread.join().unwrap()));
            seen.push(read(&lock));
            for (value, version) in &seen {
                assert!(seen.iter().all(|(other, at)| at != version || other == value));
            }
        });
    }
}
