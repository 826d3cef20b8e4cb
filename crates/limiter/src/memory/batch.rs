//! Several operations at once, over any number of limits and subjects.
//!
//! All shards that are needed are locked first, in their order so that no two callers wait for each
//! other; then all places are read, so that the processor fetches them at the same time; and only
//! then is one decided after the other.

use std::hint::black_box;
use std::ops::Range;

use smallvec::SmallVec;
use tollgate_core::{Act, Decision, Op, Outcome, Span, State, StoreError, Time, decide};

use super::hash::Hash;
use super::keys::WhenFull;
use super::lock::{Guard, Lock};
use super::shard::Shard;
use super::{MemoryStore, plain_check};

/// How many operations are answered together.
pub(super) const BATCH: usize = 16;
/// About how many states an operation that finds the store full looks through for one that has
/// reset.
const LOOKED_THROUGH: usize = 2048;
/// How long someone who was turned away by a full store is told to wait.
const WAIT_WHEN_FULL: Span = Span::from_micros(1_000_000);

/// The hash of every item of a batch.
type Hashes = SmallVec<[Hash; BATCH]>;

/// Shards that are locked, from the first on.
struct Held<'a> {
    places: SmallVec<[usize; BATCH]>,
    guards: SmallVec<[Guard<'a, Shard>; BATCH]>,
}

impl Held<'_> {
    #[inline]
    fn shard(&mut self, place: usize) -> Option<&mut Shard> {
        let found = self.places.iter().position(|held| *held == place)?;
        self.guards.get_mut(found).map(|guard| &mut **guard)
    }
}

impl MemoryStore {
    /// Answers operations that have a place for their answer.
    pub(super) fn answer_batch(
        &self,
        ops: &[Op<'_>],
        now: Time,
        out: &mut [Result<Decision, StoreError>],
    ) {
        let items = ops.iter().flat_map(|op| op.items.iter().map(move |item| (op, item)));
        let hashes: Hashes =
            items.map(|(op, item)| self.secret.hash(op.policy, item.subject)).collect();
        let mut held = self.lock_all(&hashes);
        self.touch_all(ops, &hashes, &mut held);
        let mut next = 0_usize;
        for (op, answer) in ops.iter().zip(out) {
            let range = next..next.saturating_add(op.items.len());
            next = range.end;
            *answer = self.answer_held(op, of(&hashes, range), &mut held, now);
        }
    }

    fn lock_all(&self, hashes: &Hashes) -> Held<'_> {
        let mut places: SmallVec<[usize; BATCH]> =
            hashes.iter().map(|hash| self.place(*hash)).collect();
        places.sort_unstable();
        places.dedup();
        let guards = places.iter().filter_map(|place| self.shard(*place));
        let guards = guards.map(Lock::lock).collect();
        Held { places, guards }
    }

    fn touch_all(&self, ops: &[Op<'_>], hashes: &Hashes, held: &mut Held<'_>) {
        let limits = ops.iter().flat_map(|op| op.items).map(|item| item.limit);
        let mut sum = 0;
        for (limit, hash) in limits.zip(hashes) {
            let place = self.place(*hash);
            sum |= held.shard(place).map_or(0, |shard| shard.touch(limit, hash.mark_at(0)));
        }
        black_box(sum);
    }

    fn answer_held(
        &self,
        op: &Op<'_>,
        hashes: &[Hash],
        held: &mut Held<'_>,
        now: Time,
    ) -> Result<Decision, StoreError> {
        if let (Some(item), [hash]) = (plain_check(op), hashes)
            && let Some(shard) = held.shard(self.place(*hash))
        {
            let (frame, limit, mark) = (&self.frame, item.limit, hash.mark_at(0));
            if let Some(decision) = shard.check_word(frame, limit, mark, op.cost, now) {
                return Ok(decision);
            }
            if let Some(decision) = shard.check_row(frame, limit, mark, op.cost, now) {
                return Ok(decision);
            }
        }
        let Some(scope) = op.scope() else {
            return self.decide_held(op, hashes, held, now).map(|outcome| outcome.decision);
        };
        let Some((mut part, room)) = self.ids.part(hashes.first().copied(), now) else {
            return Err(StoreError::unanswered());
        };
        if let Some(given) = part.remembered.given(&scope, op, now) {
            return Ok(given);
        }
        if !room && op.act.is_remembered() {
            return self.answer_full(op, now).map(|outcome| outcome.decision);
        }
        let outcome = self.decide_held(op, hashes, held, now)?;
        part.remembered.note(scope, op, outcome);
        Ok(outcome.decision)
    }

    fn decide_held(
        &self,
        op: &Op<'_>,
        hashes: &[Hash],
        held: &mut Held<'_>,
        now: Time,
    ) -> Result<Outcome, StoreError> {
        let mut states = self.lend_all(hashes, held);
        let mut room = self.keys.add(missing(&states));
        if !room {
            // Put back first, so that what is dropped to make room cannot be one of these.
            self.put_all(states, hashes, held, now);
            self.make_room(hashes, held, now);
            states = self.lend_all(hashes, held);
            room = self.keys.add(missing(&states));
        }
        let before = missing(&states);
        let outcome = if room { decide(op, &mut states, now) } else { self.answer_full(op, now) };
        let after = missing(&states);
        if room {
            self.keys.remove(after);
        }
        self.put_all(states, hashes, held, now);
        if after < before {
            self.sweep_few(hashes, held, now);
        }
        outcome
    }

    fn lend_all(&self, hashes: &[Hash], held: &mut Held<'_>) -> States {
        let lend = |(at, hash): (usize, &Hash)| {
            held.shard(self.place(*hash))?.lend(&self.frame, hash.mark_at(at))
        };
        hashes.iter().enumerate().map(lend).collect()
    }

    fn put_all(&self, states: States, hashes: &[Hash], held: &mut Held<'_>, now: Time) {
        for (at, (hash, state)) in hashes.iter().zip(states).enumerate() {
            if let (Some(state), Some(shard)) = (state, held.shard(self.place(*hash))) {
                self.keys.remove(shard.put(&self.frame, hash.mark_at(at), state, now));
            }
        }
    }

    fn sweep_few(&self, hashes: &[Hash], held: &mut Held<'_>, now: Time) {
        for hash in hashes {
            if let Some(shard) = held.shard(self.place(*hash)) {
                self.keys.remove(shard.sweep_few(&self.frame, now));
            }
        }
    }

    /// What a new key is told when there is no room for it.
    fn answer_full(&self, op: &Op<'_>, now: Time) -> Result<Outcome, StoreError> {
        self.keys.turn_away();
        let mut fresh: States = op.items.iter().map(|_| None).collect();
        let mut outcome = decide(op, &mut fresh, now)?;
        outcome.remember_until = None;
        let leaves_nothing = fresh.iter().all(Option::is_none) && op.act != Act::Peek;
        match self.when_full {
            WhenFull::Allow => Ok(outcome),
            WhenFull::Deny if leaves_nothing => Ok(outcome),
            WhenFull::Deny if op.act.asks() => {
                outcome.decision.allowed = false;
                outcome.decision.remaining = Some(0);
                outcome.decision.retry_after = Some(WAIT_WHEN_FULL);
                outcome.decision.reset_after = WAIT_WHEN_FULL;
                Ok(outcome)
            }
            WhenFull::Deny => Err(StoreError::full()),
        }
    }

    /// Drops what has reset in the shards at hand, or else in some of the others.
    fn make_room(&self, hashes: &[Hash], held: &mut Held<'_>, now: Time) {
        if self.keys.is_quiet(now) {
            return;
        }
        let (mut freed, mut looked) = (0_usize, 0_usize);
        let mut first = Some(Time::MAX);
        let own = hashes.iter().map(|hash| self.place(*hash));
        let others = self.shards.iter().map(|_| self.keys.next_shard() % self.shards.len());
        for place in own.chain(others) {
            if freed >= hashes.len() || looked >= LOOKED_THROUGH {
                first = None;
                break;
            }
            let mut look = |shard: &mut Shard| {
                looked = looked.saturating_add(shard.len());
                freed = freed.saturating_add(shard.sweep_all(&self.frame, now));
                shard.first_expiry(&self.frame).unwrap_or(Time::MAX)
            };
            // One that someone else has is left alone: they may be waiting for ours.
            let expiry = match held.shard(place) {
                Some(shard) => Some(look(shard)),
                None => {
                    self.shard(place).and_then(Lock::try_lock).map(|mut shard| look(&mut shard))
                }
            };
            first = first.zip(expiry).map(|(first, expiry)| first.min(expiry));
        }
        self.keys.remove(freed);
        if freed == 0 {
            self.keys.be_quiet(now, first);
        }
    }
}

type States = SmallVec<[Option<State>; 4]>;

fn missing(states: &[Option<State>]) -> usize {
    states.iter().filter(|state| state.is_none()).count()
}

fn of(hashes: &Hashes, range: Range<usize>) -> &[Hash] {
    hashes.get(range).unwrap_or_default()
}
