//! All or nothing over subjects that live on different nodes of a cluster.
//!
//! No script can reach two nodes. So every place is asked first; if one denies, that is the answer, and
//! nothing was touched. If all allow, it is reserved in every place, and then kept, or given back if
//! someone else came in between. These are the bounds:
//!
//! * It is never admitted wrongly. Meanwhile others may be denied for what is given back a moment later.
//! * What is given back is settled, not refunded: the key is as if it had never been asked, or stricter,
//!   by less than one unit.
//! * If this process, or the way to a node, dies in between, what was reserved elsewhere stays charged:
//!   at most the cost of that one operation in each place, and it leaves as any other cost does. A retry
//!   with the same id is counted beside it.
//! * A charge or a settlement that would make too large a debt in one place is tried first, and refused
//!   before any other place takes it. If others come in between, a charge is refunded elsewhere; a
//!   settlement stands.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use tollgate_core::{Act, Decision, Op, StoreError, Time};

use crate::call::Part;
use crate::call::reply::{Asked, Decided};
use crate::call::shape::Answers;
use crate::store::RedisStore;

/// An operation, and where its limits are counted.
struct CrossSlot<'s, 'a> {
    store: &'s RedisStore,
    op: &'s Op<'a>,
    places: &'s [Vec<usize>],
    at: Option<Time>,
}

impl RedisStore {
    /// Answers an operation whose limits are counted in several places.
    pub(crate) async fn apply_cross_slot(
        &self,
        op: &Op<'_>,
        places: &[Vec<usize>],
        at: Option<Time>,
    ) -> Result<Decision, StoreError> {
        let apart = CrossSlot { store: self, op, places, at };
        match op.act {
            Act::Reserve => apart.take().await,
            Act::Check | Act::Charge if op.cost > 0 => apart.take().await,
            _ => apart.each().await,
        }
    }
}

type Outcome = Result<Decided, StoreError>;

impl<'s, 'a> CrossSlot<'s, 'a> {
    /// Does it in each place by itself.
    async fn each(&self) -> Result<Decision, StoreError> {
        let changes = self.would_change().await?;
        let parts = self.parts(self.op).into_iter().map(|part| Part { changes, ..part });
        let decided = self.decide(parts.collect()).await;
        let decided = decided.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok(Decided::decision_of_all(decided, self.op.act.can_be_denied()))
    }

    /// Whether it changes, or has changed, anything in any place: then all remember it. Looks only
    /// where that matters.
    async fn would_change(&self) -> Result<bool, StoreError> {
        let remembered = self.op.id.is_some() && self.op.act.is_remembered();
        if !remembered && self.op.act != Act::Settle {
            return Ok(false);
        }
        Ok(self.prepare().await?.iter().any(|place| place.allowed))
    }

    async fn decide(&self, parts: Vec<Part<'a, '_>>) -> Vec<Outcome> {
        self.store.decide(&parts, self.at).await
    }

    fn parts<'p>(&self, op: &Op<'a>) -> Vec<Part<'a, 'p>>
    where
        's: 'p,
    {
        self.places.iter().map(|positions| Part::new(op, positions.as_slice())).collect()
    }

    /// The parts where it was not done before.
    fn new_parts<'p>(&self, op: &Op<'a>, seen: &[Decided]) -> Vec<Part<'a, 'p>>
    where
        's: 'p,
    {
        let parts = self.parts(op).into_iter().zip(seen);
        parts.filter(|(_, seen)| !seen.remembered).map(|(part, _)| part).collect()
    }

    fn counts_denied(&self, position: usize) -> bool {
        self.op.items.get(position).is_some_and(|item| item.limit.counts_denied())
    }

    /// Whether a place has taken it.
    fn took(&self, taken: &Outcome) -> bool {
        taken.as_ref().is_ok_and(|taken| taken.allowed || !self.op.act.can_be_denied())
    }

    /// Takes it in all places, or in none.
    async fn take(&self) -> Result<Decision, StoreError> {
        let asks = self.op.act.can_be_denied();
        let mut seen = self.prepare().await?;
        if seen.iter().all(|place| place.remembered) {
            return Ok(Decided::decision_of_all(seen, asks));
        }
        if asks && !seen.iter().all(|place| place.allowed) {
            return self.deny(seen).await;
        }
        let mark = unique();
        let taken = self.take_where_new(&seen, &mark).await;
        if !taken.iter().all(|taken| self.took(taken)) {
            return self.roll_back(&seen, taken, &mark).await;
        }
        let answered: Vec<Vec<u8>> = taken.iter().map(|taken| self.told(taken)).collect();
        self.commit(&seen, &mark, &answered).await;
        for (seen, taken) in seen.iter_mut().filter(|seen| !seen.remembered).zip(taken) {
            *seen = taken?;
        }
        Ok(Decided::decision_of_all(seen, asks))
    }

    /// Asks every place what it would say, and whether it has said so before under the same id. What
    /// cannot be denied is tried: the debt may be too large. It is "allowed" if it changes anything.
    async fn prepare(&self) -> Result<Vec<Decided>, StoreError> {
        let act = if self.op.act.can_be_denied() { Act::Peek } else { self.op.act };
        let look = Op { act, ..*self.op };
        let answers = Some(self.op.id.map_or(Answers::LetBe, |_| Answers::Recall(self.op.act)));
        let parts = self.parts(&look).into_iter();
        let parts = parts.map(|part| Part { answers, dry: true, ..part }).collect();
        self.decide(parts).await.into_iter().collect()
    }

    /// It is denied. Limits that count denied attempts count it all the same.
    async fn deny(&self, seen: Vec<Decided>) -> Result<Decision, StoreError> {
        let counts = |position: &usize| self.counts_denied(*position);
        let charge = Op { act: Act::Charge, id: None, ..*self.op };
        let counted = self.places.iter().map(|place| place.iter().copied().filter(counts));
        let counted = counted.map(Iterator::collect::<Vec<usize>>).filter(|some| !some.is_empty());
        let charges = counted.map(|positions| Part::new(&charge, positions)).collect();
        let counted = self.decide(charges).await.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok(Decided::decision_of_newest(seen, counted))
    }

    /// Takes it where it was not taken before.
    async fn take_where_new(&self, seen: &[Decided], mark: &[u8]) -> Vec<Outcome> {
        let act = if self.op.act == Act::Charge { Act::Charge } else { Act::Reserve };
        let take = Op { act, ..*self.op };
        let (answers, mark) = (Some(Answers::LetBe), Some(mark));
        let parts = self.new_parts(&take, seen).into_iter();
        self.decide(parts.map(|part| Part { answers, mark, ..part }).collect()).await
    }

    /// What a place has answered, for whoever asks again under the same id.
    fn told(&self, taken: &Outcome) -> Vec<u8> {
        let mut told = Vec::new();
        if let (Ok(taken), Some(_)) = (taken, self.op.id) {
            let measures = taken.measures();
            Asked { cost: self.op.cost, measures }.write_to(&mut told);
            told.extend_from_slice(&taken.bytes);
        }
        told
    }

    /// What was taken stands, under the caller's id. If that cannot be said, reservations end by
    /// themselves, and a retry is counted again.
    async fn commit(&self, seen: &[Decided], mark: &[u8], answered: &[Vec<u8>]) {
        if self.op.act == Act::Charge && self.op.id.is_none() {
            return;
        }
        let settle = Op { act: Act::Settle, ..*self.op };
        // A reservation of nothing took nothing, so that it may be asked for again.
        let id = self.op.id.filter(|_| self.op.cost > 0);
        let remembers = id.map_or(Answers::LetBe, |_| Answers::Remember(self.op.act));
        let parts = self.new_parts(&settle, seen).into_iter();
        let parts = parts.zip(answered).map(|(part, answered)| Part {
            answers: Some(remembers),
            mark: Some(mark),
            closes: Some((self.op.act, answered.as_slice())),
            ..part
        });
        let parts: Vec<Part<'_, '_>> = parts.collect();
        let mut closed = self.store.decide(&parts, self.at).await;
        for (part, outcome) in parts.iter().zip(&mut closed) {
            // Closing twice is no more than closing once.
            if outcome.as_ref().is_err_and(StoreError::is_unavailable) {
                let again = self.store.decide(std::slice::from_ref(part), self.at).await;
                *outcome = again.into_iter().next().unwrap_or(Err(StoreError::unanswered()));
            }
            // Someone with the same id was a little earlier, so that this would be the second time.
            if outcome.as_ref().is_ok_and(|outcome| outcome.remembered) {
                self.give_back(&part.positions, mark).await;
            }
        }
    }

    /// Not every place could take it: the others give it back.
    async fn roll_back(
        &self,
        seen: &[Decided],
        taken: Vec<Outcome>,
        mark: &[u8],
    ) -> Result<Decision, StoreError> {
        let parts = self.new_parts(self.op, seen).into_iter().zip(&taken);
        for (part, _) in parts.filter(|(_, taken)| self.took(taken)) {
            self.give_back(&part.positions, mark).await;
        }
        for taken in taken {
            taken?;
        }
        let look = Op { act: Act::Peek, id: None, ..*self.op };
        let left =
            self.decide(self.parts(&look)).await.into_iter().collect::<Result<Vec<_>, _>>()?;
        let mut decision = Decided::decision_of_all(left, true);
        decision.allowed = false;
        Ok(decision)
    }

    /// Gives back what one place has taken. Limits that count denied attempts keep it.
    async fn give_back(&self, positions: &[usize], mark: &[u8]) {
        if self.op.act == Act::Charge {
            let refund = Op { act: Act::Refund, id: None, ..*self.op };
            self.decide(vec![Part::new(&refund, positions)]).await;
            return;
        }
        let (kept, given): (Vec<usize>, Vec<usize>) =
            positions.iter().partition(|p| self.counts_denied(**p));
        let settle = |cost, positions: Vec<usize>| {
            let op = Op { act: Act::Settle, cost, id: None, ..*self.op };
            Part { mark: Some(mark), answers: Some(Answers::LetBe), ..Part::new(&op, positions) }
        };
        let mut parts = vec![settle(0, given), settle(self.op.cost, kept)];
        parts.retain(|part| !part.positions.is_empty());
        self.decide(parts).await;
    }
}

/// A name that nobody has: what this operation reserves is found by it.
fn unique() -> [u8; 16] {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    let random = RandomState::new();
    let mut name = [0; 16];
    let halves = [random.hash_one(next), random.hash_one(next ^ u64::MAX)];
    for (place, byte) in name.iter_mut().zip(halves.iter().flat_map(|half| half.to_le_bytes())) {
        *place = byte;
    }
    name
}
