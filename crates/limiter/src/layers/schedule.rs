//! What a layer has to do for its keys in the background, and when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::hash::Hash;

/// Longest time without a look at the schedule.
const MAX_SLEEP: Duration = Duration::from_millis(10);

/// The keys of which something is due, by time. One task serves them, and only while there are any.
#[derive(Default)]
pub(super) struct Schedule(Mutex<State>);

#[derive(Default)]
struct State {
    due: BinaryHeap<Reverse<(Instant, Hash)>>,
    is_served: bool,
}

/// The right to serve a schedule. It ends with the task, also if its runtime stops.
pub(super) struct Service<'s> {
    schedule: &'s Schedule,
    has_ended: bool,
}

impl Drop for Service<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.schedule.lock().is_served = false;
        }
    }
}

impl Schedule {
    /// Adds a key. Returns whether a task is needed that serves the schedule.
    #[must_use]
    pub(super) fn push(&self, at: Instant, hash: Hash) -> bool {
        let mut state = self.lock();
        state.due.push(Reverse((at, hash)));
        !state.is_served
    }

    /// Begins to serve the schedule, unless another task does.
    pub(super) fn serve(&self) -> Option<Service<'_>> {
        let mut state = self.lock();
        let is_free = !state.is_served;
        state.is_served = true;
        is_free.then(|| Service { schedule: self, has_ended: false })
    }

    /// Returns the number of keys, due or not.
    pub(super) fn len(&self) -> usize {
        self.lock().due.len()
    }

    /// Takes the first keys, due or not.
    pub(super) fn take(&self, max: usize) -> Vec<Hash> {
        let mut state = self.lock();
        (0..max).map_while(|_| state.due.pop()).map(|Reverse((_, hash))| hash).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No key is ever left half added.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Service<'_> {
    /// Waits for a while, and returns the keys that are due; `None` if there are none to wait for.
    pub(super) async fn next(&mut self, max: usize) -> Option<Vec<Hash>> {
        let at = {
            let mut state = self.schedule.lock();
            let next = state.due.peek().map(|Reverse((at, _))| *at);
            // While it is locked, so that a key that is added now finds out that it needs a task.
            state.is_served = next.is_some();
            self.has_ended = next.is_none();
            next?
        };
        // A key that is due earlier may be added meanwhile.
        sleep_until(at.min(Instant::now() + MAX_SLEEP)).await;
        let (now, mut keys, mut state) = (Instant::now(), Vec::new(), self.schedule.lock());
        while keys.len() < max
            && let Some(Reverse((at, hash))) = state.due.peek()
            && *at <= now
        {
            keys.push(*hash);
            state.due.pop();
        }
        Some(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_task_serves_a_schedule() {
        let schedule = Schedule::default();
        assert!(schedule.push(Instant::now(), 1));
        let mut service = schedule.serve().unwrap();
        assert!(schedule.serve().is_none());
        assert!(!schedule.push(Instant::now(), 2));
        assert_eq!(service.next(9).await.map(|keys| keys.len()), Some(2));
        assert_eq!(service.next(9).await, None);
        assert!(schedule.push(Instant::now(), 3));
        // A task that ends in between, as when its runtime stops, can be followed by another.
        drop(schedule.serve());
        assert!(schedule.serve().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn keys_wait_until_they_are_due() {
        let (schedule, now) = (Schedule::default(), Instant::now());
        for (millis, key) in [(30, 1), (20, 2), (25, 3)] {
            let _ = schedule.push(now + Duration::from_millis(millis), key);
        }
        let mut service = schedule.serve().unwrap();
        let mut order = Vec::new();
        while let Some(keys) = service.next(1).await {
            order.extend(keys);
        }
        assert_eq!(order, [2, 3, 1]);
        assert!(now.elapsed() >= Duration::from_millis(30));
    }
}
