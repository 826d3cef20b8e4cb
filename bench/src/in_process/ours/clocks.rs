//! Limiters whose clock is not the system's.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use tollgate::{Clock, Limiter, MemoryStore};

use crate::in_process::system::{CLOCK_INTERVAL, System};

/// Creates a limiter whose clock is cached: a thread sets it regularly.
pub(super) fn cached(lines: &[&str]) -> anyhow::Result<Limiter> {
    let store = store_with_manual_clock()?;
    let weak = Arc::downgrade(&store);
    thread::spawn(move || update_clock(&weak));
    Ok(store.limiter("cached", lines)?)
}

/// Checks at times that the bench passes in: each is a step after the one before.
pub(super) struct Stepped {
    limiter: Limiter,
    step: Duration,
}

impl Stepped {
    pub(super) fn new(lines: &[&str], step: Duration) -> anyhow::Result<Stepped> {
        Ok(Stepped { limiter: store_with_manual_clock()?.limiter("stepped", lines)?, step })
    }
}

impl System for Stepped {
    fn check(&self, key: &String) -> bool {
        self.limiter.store().clock().advance(self.step);
        self.limiter.check(key).expect("a check does not fail").allowed
    }
}

fn store_with_manual_clock() -> anyhow::Result<Arc<MemoryStore>> {
    let clock = Clock::manual();
    clock.set(Clock::system().now());
    Ok(MemoryStore::builder().clock(clock).build()?)
}

/// Sets the clock of a store until the store is dropped.
fn update_clock(store: &Weak<MemoryStore>) {
    let system = Clock::system();
    while let Some(store) = store.upgrade() {
        store.clock().set(system.now());
        drop(store);
        thread::sleep(CLOCK_INTERVAL);
    }
}
