//! Several operations at once, over any number of limits and subjects.
//!
//! All shards that are needed are locked first; then one operation is decided after the other.

use smallvec::SmallVec;
use tollgate_core::storage::{Outcome, State, decide};
use tollgate_core::{Act, Decision, Item, Key, Name, Op, Span, StoreError, Subject, Time};

use super::MemoryStore;
use super::check::{Asked, Record, plain_check};
use super::key_budget::WhenFull;
use super::lock::Lock;
use super::locked_shards::LockedShards;
use super::shard::Shard;

/// How many operations are answered together.
pub(crate) const BATCH: usize = 16;
/// About how many states an operation that finds the store full looks through for one that has
/// reset.
const LOOKED_THROUGH: usize = 2048;
/// How long someone who was turned away by a full store is told to wait.
const WAIT_WHEN_FULL: Span = Span::from_micros(1_000_000);

/// The items of one operation of a batch: from the first of them on, so many.
#[derive(Clone, Copy)]
struct Items {
    first: usize,
    count: usize,
}

impl LockedShards<'_> {
    /// The shard and the fingerprint of each item of an operation, in their order.
    fn each(&mut self, items: Items, mut visit: impl FnMut(&mut Shard, u64)) {
        for position in 0..items.count {
            if let Some((shard, hash)) = self.shard(items.first.saturating_add(position)) {
                visit(shard, hash.fingerprint_at(position));
            }
        }
    }
}

impl MemoryStore {
    /// Answers operations one after the other, each to `tell` with its number.
    #[inline]
    pub(crate) fn answer_batch(
        &self,
        ops: &[Op<'_>],
        now: Time,
        mut tell: impl FnMut(usize, Result<Decision, StoreError>),
    ) {
        let items = || ops.iter().flat_map(|op| op.items.iter().map(move |item| (op, item)));
        let mut locked = self.lock_all(items().map(|(op, item)| (op.policy, item.subject)));
        let mut first = 0_usize;
        for (number, op) in ops.iter().enumerate() {
            let items = Items { first, count: op.items.len() };
            first = first.saturating_add(items.count);
            let known = plain_check(op)
                .and_then(|(asked, _)| self.check_held(&asked, items.first, &mut locked, now));
            match known {
                Some(decision) => tell(number, Ok(decision)),
                None => tell(number, self.answer_held(op, items, &mut locked, now)),
            }
        }
    }

    /// Checks keys of one limit one after the other, each answered to `tell`.
    #[inline]
    pub(crate) fn check_batch(
        &self,
        policy: &Name,
        asked: &Asked<'_>,
        keys: &[Key<'_>],
        now: Time,
        mut tell: impl FnMut(Result<Decision, StoreError>),
    ) {
        let mut locked = self.lock_all(keys.iter().map(|key| (policy, Subject::from(*key))));
        for (first, key) in keys.iter().enumerate() {
            match self.check_held(asked, first, &mut locked, now) {
                Some(decision) => tell(Ok(decision)),
                None => {
                    let items = [Item { limit: asked.limit, subject: Subject::from(*key) }];
                    let cost = asked.cost;
                    let op = Op { policy, items: &items, act: Act::Check, cost, id: None };
                    tell(self.answer_held(&op, Items { first, count: 1 }, &mut locked, now));
                }
            }
        }
    }

    /// A check of one limit in one word, as [`MemoryStore::check_word`], and inlined as that is.
    #[inline(always)]
    fn check_held(
        &self,
        asked: &Asked<'_>,
        item: usize,
        locked: &mut LockedShards<'_>,
        now: Time,
    ) -> Option<Decision> {
        if !asked.limit.may_fit_one_word() {
            return None;
        }
        let (shard, hash) = locked.shard(item)?;
        shard.word(hash.fingerprint_at(0))?.check(asked, &self.layout, now)
    }

    #[inline(never)]
    fn answer_held(
        &self,
        op: &Op<'_>,
        items: Items,
        locked: &mut LockedShards<'_>,
        now: Time,
    ) -> Result<Decision, StoreError> {
        if let Some((asked, _)) = plain_check(op)
            && let Some((shard, hash)) = locked.shard(items.first)
        {
            let fingerprint = hash.fingerprint_at(0);
            let known = shard.row(fingerprint).and_then(|row| row.check(&asked, &self.layout, now));
            let decision = known.or_else(|| self.put_first(shard, fingerprint, &asked, now));
            if let Some(decision) = decision {
                return Ok(decision);
            }
        }
        let Some(scope) = op.id_scope() else {
            return self.decide_held(op, items, locked, true, now).map(|outcome| outcome.decision);
        };
        let first = locked.hash(items.first);
        let mut ids = self.ids.of(first, now);
        if let Some(given) = ids.given(&scope, op, now) {
            return Ok(given);
        }
        let outcome = self.decide_held(op, items, locked, ids.has_room(), now)?;
        ids.note(scope, op, outcome, self.layout.horizon(now));
        Ok(outcome.decision)
    }

    /// Decides over the states of the items, which are lent for it and put back.
    fn decide_held(
        &self,
        op: &Op<'_>,
        items: Items,
        locked: &mut LockedShards<'_>,
        room_for_id: bool,
        now: Time,
    ) -> Result<Outcome, StoreError> {
        let mut states = self.lend_all(items, locked);
        let mut room = self.budget.add(missing(&states));
        if !room {
            // Put back first, so that what is dropped to make room cannot be one of these.
            self.put_all(states, items, locked, now);
            self.make_room(items, locked, now);
            states = self.lend_all(items, locked);
            room = self.budget.add(missing(&states));
        }
        let before = missing(&states);
        let outcome = if room && room_for_id {
            decide(op, &mut states, now)
        } else {
            self.decide_full(op, &mut states, room, now)
        };
        let after = missing(&states);
        let added = if room { before } else { 0 };
        self.budget.remove(added.saturating_add(after).saturating_sub(before));
        self.put_all(states, items, locked, now);
        if after < before {
            locked.each(items, |shard, fingerprint| {
                self.budget.remove(shard.sweep_few(&self.layout, fingerprint, now));
            });
        }
        outcome
    }

    /// Decides when there may be no room for new states, or else none for the id. What needs no room
    /// is done as ever, so that nobody who is known is treated as new.
    fn decide_full(
        &self,
        op: &Op<'_>,
        states: &mut States,
        room: bool,
        now: Time,
    ) -> Result<Outcome, StoreError> {
        let mut after = states.clone();
        // A peek is told what a check would be.
        let act = if op.act == Act::Peek { Act::Check } else { op.act };
        let mut outcome = decide(&Op { act, ..*op }, &mut after, now)?;
        let is_new =
            |(before, after): (&Option<_>, &Option<_>)| before.is_none() && after.is_some();
        let adds = states.iter().zip(&after).any(is_new);
        // Forgetting a key is never refused; it is only not remembered.
        let unremembered = op.id.is_some() && outcome.remember_until.take().is_some();
        let fits = if room { !unremembered || op.act == Act::Reset } else { !adds };
        if !fits {
            self.budget.count_rejection();
        }
        match self.when_full {
            WhenFull::Deny if !fits => return rejected(op, outcome),
            _ if op.act == Act::Peek => return decide(op, states, now),
            _ => {}
        }
        for (before, after) in states.iter_mut().zip(after) {
            if room || before.is_some() {
                *before = after;
            }
        }
        Ok(outcome)
    }

    fn lend_all(&self, items: Items, locked: &mut LockedShards<'_>) -> States {
        let mut states = States::new();
        locked.each(items, |shard, fingerprint| states.push(shard.lend(&self.layout, fingerprint)));
        states
    }

    fn put_all(&self, states: States, items: Items, locked: &mut LockedShards<'_>, now: Time) {
        let mut states = states.into_iter();
        locked.each(items, |shard, fingerprint| {
            if let Some(state) = states.next().flatten() {
                self.budget.remove(shard.put(&self.layout, fingerprint, state, now));
            }
        });
    }

    /// Drops what has reset in the shards at hand, or else in some of the others.
    fn make_room(&self, items: Items, locked: &mut LockedShards<'_>, now: Time) {
        if self.budget.is_quiet(now) {
            return;
        }
        let mut look = Look { freed: 0, looked: 0, first: Some(Time::MAX) };
        for shard in locked.shards() {
            look.at(shard, self, now);
        }
        let start = self.budget.next_shard();
        for place in (0..self.shards.len()).map(|next| start.wrapping_add(next)) {
            let place = place & self.shards.len().wrapping_sub(1);
            if look.freed >= items.count || look.looked >= LOOKED_THROUGH {
                self.budget.look_next_from(place);
                look.first = None;
                break;
            }
            if locked.has(place) {
                continue;
            }
            // One that someone else has is left alone: they may be waiting for ours.
            match self.shard(place).and_then(Lock::try_lock) {
                Some(mut shard) => look.at(&mut shard, self, now),
                None => look.first = None,
            }
        }
        self.budget.remove(look.freed);
        if look.freed == 0 {
            self.budget.be_quiet(now, look.first);
        }
    }
}

/// What is said where there is no room, and nothing was done.
fn rejected(op: &Op<'_>, mut outcome: Outcome) -> Result<Outcome, StoreError> {
    if !op.act.can_be_denied() {
        return Err(StoreError::full());
    }
    outcome.decision.allowed = false;
    outcome.decision.remaining = Some(0);
    outcome.decision.retry_after = Some(WAIT_WHEN_FULL);
    outcome.decision.reset_after = WAIT_WHEN_FULL;
    outcome.decision.bound_reset_after = WAIT_WHEN_FULL;
    Ok(outcome)
}

/// What someone who looks for room has found.
struct Look {
    freed: usize,
    looked: usize,
    /// When the first of the states that were seen resets; `None` if not all were.
    first: Option<Time>,
}

impl Look {
    fn at(&mut self, shard: &mut Shard, store: &MemoryStore, now: Time) {
        self.looked = self.looked.saturating_add(shard.len());
        self.freed = self.freed.saturating_add(shard.sweep_all(&store.layout, now));
        let expiry = shard.first_expiry(&store.layout).unwrap_or(Time::MAX);
        self.first = self.first.map(|first| first.min(expiry));
    }
}

/// The states that an operation decides over.
type States = SmallVec<[Option<State>; 4]>;

fn missing(states: &[Option<State>]) -> usize {
    states.iter().filter(|state| state.is_none()).count()
}
