//! Decisions that were given under ids, in segments with a lock each, so that callers seldom wait
//! for each other.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tollgate_core::storage::{IdempotencyCache, Outcome, Scope};
use tollgate_core::{Decision, Op, Time};

use crate::hash::{Hash, index_in};

/// Number of segments. A power of two.
const SEGMENTS: usize = 64;
/// Number of decisions below which a sweep is not worthwhile.
const MIN_TO_SWEEP: usize = 256;
/// Minimum time between two sweeps of all segments when there are too many decisions, in
/// microseconds.
const SWEEP_INTERVAL: u64 = 1_000_000;

/// The decisions that a store remembers by their ids.
pub(super) struct RememberedIds {
    segments: Box<[Mutex<Segment>]>,
    count: AtomicUsize,
    /// Maximum number of decisions in all segments.
    max_count: usize,
    /// Time of the last sweep of all segments, in microseconds.
    swept_at: AtomicU64,
}

#[derive(Default)]
struct Segment {
    cache: IdempotencyCache,
    /// Number of decisions at which the next sweep is made.
    sweep_at: usize,
}

/// The locked segment with the ids of one key.
pub(super) struct LockedIds<'a> {
    ids: &'a RememberedIds,
    segment: MutexGuard<'a, Segment>,
}

impl RememberedIds {
    /// Creates a cache for as many decisions as there may be keys.
    pub(super) fn new(max_keys: usize) -> RememberedIds {
        RememberedIds {
            segments: (0..SEGMENTS).map(|_| Mutex::default()).collect(),
            count: AtomicUsize::new(0),
            max_count: max_keys.max(MIN_TO_SWEEP),
            swept_at: AtomicU64::new(0),
        }
    }

    /// Locks the ids of operations with this first subject.
    pub(super) fn lock(&self, first: Option<Hash>, now: Time) -> LockedIds<'_> {
        if self.is_full() {
            self.sweep_all(now);
        }
        let index = first.map_or(0, |hash| index_in(SEGMENTS, hash.fingerprint));
        // A segment is never left half changed, so a panic elsewhere is no reason to stop.
        let segment = self.segment(index).lock().unwrap_or_else(PoisonError::into_inner);
        LockedIds { ids: self, segment }
    }

    #[expect(clippy::indexing_slicing, reason = "the index is below the number of segments")]
    fn segment(&self, index: usize) -> &Mutex<Segment> {
        &self.segments[index % SEGMENTS]
    }

    fn is_full(&self) -> bool {
        self.count.load(Ordering::Relaxed) >= self.max_count
    }

    /// Drops all decisions that have expired, without slack. The caller must not hold a segment.
    #[cold]
    fn sweep_all(&self, now: Time) {
        let last = self.swept_at.swap(now.as_micros(), Ordering::Relaxed);
        if now.as_micros().abs_diff(last) < SWEEP_INTERVAL {
            self.swept_at.store(last, Ordering::Relaxed);
            return;
        }
        for segment in &self.segments {
            let mut segment = segment.lock().unwrap_or_else(PoisonError::into_inner);
            self.change(&mut segment, |segment| segment.cache.sweep(now));
        }
    }

    /// Changes a segment, and updates the count.
    fn change(&self, segment: &mut Segment, change: impl FnOnce(&mut Segment)) {
        let before = segment.cache.len();
        change(segment);
        let after = segment.cache.len();
        self.count.fetch_add(after.saturating_sub(before), Ordering::Relaxed);
        self.count.fetch_sub(before.saturating_sub(after), Ordering::Relaxed);
    }
}

impl LockedIds<'_> {
    /// Returns the decision that this operation was given before under its id.
    pub(super) fn find(&self, scope: &Scope, op: &Op<'_>, now: Time) -> Option<Decision> {
        self.segment.cache.get(scope, op, now)
    }

    /// Returns whether another decision can be remembered.
    pub(super) fn has_room(&self) -> bool {
        !self.ids.is_full()
    }

    /// Remembers the outcome, or forgets the id. Decisions that expired before the horizon may be
    /// dropped meanwhile.
    pub(super) fn record(&mut self, scope: Scope, op: &Op<'_>, outcome: Outcome, horizon: Time) {
        self.ids.change(&mut self.segment, |segment| {
            segment.cache.record(scope, op, outcome);
            if segment.cache.len() >= segment.sweep_at.max(MIN_TO_SWEEP) {
                segment.cache.sweep(horizon);
                segment.sweep_at = segment.cache.len().saturating_mul(2);
            }
        });
    }
}
