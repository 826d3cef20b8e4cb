//! Answers that were given under ids, in parts, so that callers seldom wait for each other.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tollgate_core::storage::{IdempotencyCache, Outcome, Scope};
use tollgate_core::{Decision, Op, Time};

use super::hash::{Hash, place_in};

/// In how many parts they are kept: a power of two.
const PARTS: usize = 64;
/// As few answers as this are not worth sweeping.
const FEW: usize = 256;
/// When there are too many, all parts are swept, at most this often, in microseconds.
const PAUSE: u64 = 1_000_000;

pub(super) struct Ids {
    parts: Box<[Mutex<Part>]>,
    count: AtomicUsize,
    /// How many answers there may be in all parts.
    most: usize,
    /// When all parts were swept last, in microseconds.
    swept: AtomicU64,
}

#[derive(Default)]
struct Part {
    remembered: IdempotencyCache,
    /// At how many answers to sweep next.
    sweep_at: usize,
}

/// The part with the ids of one key, for the time of one operation.
pub(super) struct Known<'a> {
    ids: &'a Ids,
    part: MutexGuard<'a, Part>,
}

impl Ids {
    /// As many answers as there may be keys.
    pub(super) fn new(most: usize) -> Ids {
        let parts = (0..PARTS).map(|_| Mutex::default()).collect();
        Ids { parts, count: AtomicUsize::new(0), most: most.max(FEW), swept: AtomicU64::new(0) }
    }

    /// The ids of operations whose first subject this is.
    pub(super) fn of(&self, first: Option<Hash>, now: Time) -> Known<'_> {
        if self.is_full() {
            self.sweep_all(now);
        }
        let place = first.map_or(0, |hash| place_in(PARTS, hash.fingerprint));
        // It is never left half changed, so a panic elsewhere is no reason to stop.
        let part = self.part(place).lock().unwrap_or_else(PoisonError::into_inner);
        Known { ids: self, part }
    }

    #[expect(clippy::indexing_slicing, reason = "a place is below the number of parts")]
    fn part(&self, place: usize) -> &Mutex<Part> {
        &self.parts[place % PARTS]
    }

    fn is_full(&self) -> bool {
        self.count.load(Ordering::Relaxed) >= self.most
    }

    /// Drops everything that has ended, without slack. Nobody holds a part who comes here.
    #[cold]
    fn sweep_all(&self, now: Time) {
        let last = self.swept.swap(now.as_micros(), Ordering::Relaxed);
        if now.as_micros().abs_diff(last) < PAUSE {
            self.swept.store(last, Ordering::Relaxed);
            return;
        }
        for part in &self.parts {
            let mut part = part.lock().unwrap_or_else(PoisonError::into_inner);
            self.change(&mut part, |part| part.remembered.sweep(now));
        }
    }

    /// Changes a part, and the count with it.
    fn change(&self, part: &mut Part, change: impl FnOnce(&mut Part)) {
        let before = part.remembered.len();
        change(part);
        let after = part.remembered.len();
        self.count.fetch_add(after.saturating_sub(before), Ordering::Relaxed);
        self.count.fetch_sub(before.saturating_sub(after), Ordering::Relaxed);
    }
}

impl Known<'_> {
    pub(super) fn given(&self, scope: &Scope, op: &Op<'_>, now: Time) -> Option<Decision> {
        self.part.remembered.get(scope, op, now)
    }

    /// Whether another answer can be remembered.
    pub(super) fn has_room(&self) -> bool {
        !self.ids.is_full()
    }

    /// Remembers or forgets. What ended before the horizon may be dropped on the way.
    pub(super) fn note(&mut self, scope: Scope, op: &Op<'_>, outcome: Outcome, horizon: Time) {
        self.ids.change(&mut self.part, |part| {
            part.remembered.record(scope, op, outcome);
            if part.remembered.len() >= part.sweep_at.max(FEW) {
                part.remembered.sweep(horizon);
                part.sweep_at = part.remembered.len().saturating_mul(2);
            }
        });
    }
}
