//! Operations that are remembered by their ids, so that a retry returns the first decision and changes
//! nothing.
//!
//! A record has 72 bytes, whatever the id and the keys: they are only there as a keyed hash. Records lie in
//! segments with a lock each, so that callers seldom wait for each other. Each new record sweeps a few old
//! ones. When a policy has used up its share, its operations are done and not remembered.
//!
//! Nearly every id is new, and what it needs of all this is in no cache of the processor. So an operation
//! [prefetches](RememberedIds::prefetch) it at first, and no step but the search for the key waits for memory.
//!
//! The lock of a segment is never held while an operation is decided: operations of the same subjects are
//! one queue already, by the locks of the shards.

mod index;
mod record;
mod segment;
mod slots;

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use tollgate_core::storage::{CompactDecision, Handle, Outcome};
use tollgate_core::{Act, Decision, Op, Time};

use self::record::{IdKey, Record};
use self::segment::Segment;
use super::shares::Shares;
use super::stats::MemoryShare;
use crate::hash::{Scope, index_in};
use crate::lock::{Guard, Lock};

/// Maximum number of bytes that a remembered id takes, with its place in the index.
pub(super) const MAX_BYTES_PER_ID: usize = 100;
/// Maximum number of segments. A power of two. With more, the ends of all of them, where new records go, would not stay
/// in a cache.
const MAX_SEGMENTS: usize = 256;
/// Number of records per segment when the memory for ids is full, until there are [`MAX_SEGMENTS`].
const RECORDS_PER_SEGMENT: usize = 1024;
/// Minimum number of records that there is room for.
const MIN_RECORDS: usize = 256;
/// Number of chunks that every new record sweeps. With so many, at most one record in sixteen has expired.
const SWEPT_PER_RECORD: usize = 1;
/// Number of chunks of a segment that are swept if there is no room.
const SWEPT_WHEN_FULL: usize = 4;
/// Number of segments that are swept then, beside that of the record: all of them may have expired while there was
/// nothing new to remember.
const SEGMENTS_SWEPT_WHEN_FULL: usize = 4;
/// How long the record of a reset is kept at least, in microseconds: as long as any record it forgets.
const RESET_TTL: u64 = 60_000_000;
/// By how much the latest expiry is rounded up, in microseconds: so nearly all records only read it.
const EXPIRY_STEP: u64 = 1_000_000;

/// The operations that a store remembers by their ids.
pub(super) struct RememberedIds {
    segments: Box<[Lock<Segment>]>,
    shares: Shares,
    /// Number of resets so far.
    resets: AtomicU32,
    /// No record expires later, in microseconds.
    latest: AtomicU64,
    /// Number of operations so far that were done and not remembered.
    unremembered: AtomicU64,
    /// The segment that is swept next if there is no room.
    next_swept: AtomicUsize,
}

impl RememberedIds {
    pub(super) fn new(max: usize) -> RememberedIds {
        let max = max.max(MIN_RECORDS);
        let segments = max.div_ceil(RECORDS_PER_SEGMENT).min(MAX_SEGMENTS).next_power_of_two();
        RememberedIds {
            segments: (0..segments).map(|_| Lock::new(Segment::default())).collect(),
            shares: Shares::new(max),
            resets: AtomicU32::new(0),
            latest: AtomicU64::new(0),
            unremembered: AtomicU64::new(0),
            next_swept: AtomicUsize::new(0),
        }
    }

    /// Returns the number of records.
    pub(super) fn count(&self) -> usize {
        self.shares.total()
    }

    /// Returns the maximum number of records.
    pub(super) fn max(&self) -> usize {
        self.shares.max()
    }

    /// Returns the memory they take, and the most they can take.
    pub(super) fn memory(&self) -> MemoryShare {
        let bytes = self.segments.iter().map(|segment| segment.lock().bytes());
        let max = self.max().saturating_mul(MAX_BYTES_PER_ID);
        MemoryShare { bytes: bytes.fold(0, usize::saturating_add), max }
    }

    /// Returns the number of operations so far that were done and not remembered.
    pub(super) fn unremembered(&self) -> u64 {
        self.unremembered.load(Ordering::Relaxed)
    }

    /// Returns the decision that this operation was given before under its id.
    pub(super) fn find(
        &self,
        scope: Scope,
        op: &Op<'_>,
        handle: Option<Handle>,
        now: Time,
    ) -> Option<Decision> {
        let key = IdKey::new(handle.filter(|_| op.act.is_remembered())?, op.act);
        let record = *self.segment(key)?.find(key)?;
        let decision = record.decision.filter(|_| now < record.expires)?;
        let reset = IdKey::of_reset(scope);
        let was_reset = |reset: &Record| record.is_before(reset);
        let forgotten = self.segment(reset)?.find(reset).is_some_and(was_reset);
        (!forgotten).then(|| decision.decision())
    }

    /// Remembers the outcome, or forgets the ids that a release or reset ends. Records that expired before
    /// the horizon may be dropped meanwhile. Says in the decision if there was no room.
    #[inline(never)]
    pub(super) fn record(
        &self,
        scope: Scope,
        op: &Op<'_>,
        handle: Option<Handle>,
        outcome: &mut Outcome,
        (now, horizon): (Time, Time),
    ) {
        if op.act == Act::Reset {
            self.forget_all(scope, op, now);
        }
        let Some(handle) = handle else { return };
        if outcome.forget_id {
            self.forget(handle, op.act);
        }
        self.remember(op, IdKey::new(handle, op.act), outcome, |record| {
            self.insert(record, now, horizon)
        });
    }

    /// As [`find`](RememberedIds::find) and then [`record`](RememberedIds::record), for a check that is decided already:
    /// nearly every id is new, and is looked up once. Returns the decision that the check was given before; if there is
    /// one, it is not recorded.
    #[inline]
    pub(super) fn find_or_record(
        &self,
        scope: Scope,
        op: &Op<'_>,
        handle: Option<Handle>,
        outcome: &mut Outcome,
        (now, horizon): (Time, Time),
    ) -> Option<Decision> {
        let key = IdKey::new(handle?, op.act);
        let segment = self.segment(key)?;
        if segment.find(key).is_some() {
            drop(segment);
            let found = self.find(scope, op, handle, now);
            if found.is_none() {
                self.record(scope, op, handle, outcome, (now, horizon));
            }
            return found;
        }
        self.remember(op, key, outcome, |record| self.insert_new(segment, record, now, horizon));
        None
    }

    /// Remembers the outcome, if that is asked for, by inserting a record. Says in the decision if there was no room.
    #[inline(always)]
    fn remember(
        &self,
        op: &Op<'_>,
        key: IdKey,
        outcome: &mut Outcome,
        insert: impl FnOnce(Record) -> bool,
    ) {
        let Some(expires) = outcome.remember_until else { return };
        let decision = CompactDecision::of(&outcome.decision);
        let remembered = decision.is_some_and(|decision| {
            insert(self.new_record(key, Shares::of(op.policy), expires, Some(decision)))
        });
        if !remembered {
            outcome.decision.not_remembered = true;
            self.unremembered.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Forgets an id, for all operations.
    fn forget(&self, handle: Handle, act: Act) {
        let key = IdKey::new(handle, act);
        // They are all in one segment.
        let Some(mut segment) = self.segment(key) else { return };
        while let Some(record) = segment.remove_any_of(key) {
            self.shares.remove(record.share);
        }
    }

    /// Forgets all ids of the subjects: a record of the reset says that older ones no longer count.
    fn forget_all(&self, scope: Scope, op: &Op<'_>, now: Time) {
        let share = Shares::of(op.policy);
        if self.shares.is_empty(share) {
            return;
        }
        let key = IdKey::of_reset(scope);
        let expires = now.as_micros().saturating_add(RESET_TTL);
        let expires = expires.max(self.latest.load(Ordering::Relaxed));
        let expires = Time::from_micros(expires).unwrap_or(Time::MAX);
        self.resets.fetch_add(1, Ordering::Relaxed);
        let record = self.new_record(key, share, expires, None);
        if self.insert(record, now, now) {
            return;
        }
        // A reset is always done. It takes the place of another record, if there is one in its segment:
        // so there is never more than one too many in each.
        let Some(mut segment) = self.segment(key) else { return };
        if let Some(evicted) = segment.evict() {
            self.shares.remove(evicted.share);
            self.unremembered.fetch_add(1, Ordering::Relaxed);
        }
        self.shares.add(share);
        segment.insert(record);
    }

    fn new_record(
        &self,
        key: IdKey,
        share: u16,
        expires: Time,
        decision: Option<CompactDecision>,
    ) -> Record {
        if self.latest.load(Ordering::Relaxed) < expires.as_micros() {
            let latest = expires.as_micros().saturating_add(EXPIRY_STEP);
            self.latest.fetch_max(latest, Ordering::Relaxed);
        }
        // Operations of the same subjects are one queue, so those after a reset read its number or a greater one.
        Record { key, expires, decision, resets: self.resets.load(Ordering::Relaxed), share }
    }

    /// Prefetches what remembering an operation touches, if it has an id.
    #[inline]
    pub(super) fn prefetch(&self, handle: Option<Handle>, act: Act) {
        if let Some(handle) = handle {
            let key = IdKey::new(handle, act);
            if let Some(mut segment) = self.segment(key) {
                segment.prefetch(key);
            }
        }
    }

    /// Inserts a record, in place of one with the same key. Returns false if there is no room.
    fn insert(&self, record: Record, now: Time, horizon: Time) -> bool {
        let Some(mut segment) = self.segment(record.key) else { return false };
        segment.replace(&record) || self.insert_new(segment, record, now, horizon)
    }

    /// Inserts a record whose key is not in its segment. Returns false if there is no room.
    #[inline]
    fn insert_new<'s>(
        &'s self,
        mut segment: Guard<'s, Segment>,
        record: Record,
        now: Time,
        horizon: Time,
    ) -> bool {
        self.sweep(&mut segment, SWEPT_PER_RECORD, horizon);
        if !self.shares.try_add(record.share) {
            self.sweep(&mut segment, SWEPT_WHEN_FULL, now);
            drop(segment);
            self.sweep_others(now);
            if !self.shares.try_add(record.share) {
                return false;
            }
            // No other caller has inserted this key meanwhile: operations of the same subjects are one queue.
            let Some(again) = self.segment(record.key) else { return false };
            segment = again;
        }
        segment.insert(record);
        true
    }

    fn sweep(&self, segment: &mut Segment, chunks: usize, horizon: Time) {
        segment.sweep(chunks, horizon, |record| self.shares.remove(record.share));
    }

    /// Sweeps some segments, the next ones in turn.
    fn sweep_others(&self, now: Time) {
        for _ in 0..SEGMENTS_SWEPT_WHEN_FULL {
            let next = self.next_swept.fetch_add(1, Ordering::Relaxed);
            if let Some(segment) = self.segments.get(next & self.segments.len().wrapping_sub(1)) {
                self.sweep(&mut segment.lock(), SWEPT_WHEN_FULL, now);
            }
        }
    }

    fn segment(&self, key: IdKey) -> Option<Guard<'_, Segment>> {
        self.segments.get(index_in(self.segments.len(), key.segment())).map(Lock::lock)
    }
}
