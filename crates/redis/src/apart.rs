//! All or nothing over subjects that live on different nodes of a cluster.
//!
//! No script can reach two nodes. So a check is reserved in every place; if all allow it the
//! reservations are closed as they are, else they are given back. Two round trips, and these bounds:
//!
//! * It is never admitted wrongly. Meanwhile others may be denied for what is given back a moment later.
//! * If this process, or the way to a node, dies in between, what was reserved elsewhere stays charged:
//!   at most the cost of that one operation in each place, and it leaves as any other cost does.
//! * What is given back is settled, not refunded: the key is as if it had never been asked, or stricter.

use std::borrow::Cow;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use tollgate_core::{Act, Decision, Id, Op, StoreError, Time};

use crate::call::Part;
use crate::reply::Decided;
use crate::shape::{Answers, Positions};
use crate::store::RedisStore;

impl RedisStore {
    /// Answers an operation whose limits are counted in several places.
    pub(crate) async fn answer_apart(
        &self,
        op: &Op<'_>,
        places: &[Vec<usize>],
        at: Option<Time>,
    ) -> Result<Decision, StoreError> {
        let takes_if_all_allow = match op.act {
            Act::Check => op.cost > 0,
            act => act == Act::Reserve,
        };
        if takes_if_all_allow {
            return self.reserve_apart(op, places, at).await;
        }
        let decided = self.decide(&parts(op, places), at).await;
        if op.act == Act::Charge && decided.iter().any(Result::is_err) {
            self.take_back_charge(op, places, &decided, at).await;
        }
        let decided = decided.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok(Decided::explain_all(decided, op.act.asks()))
    }

    async fn reserve_apart(
        &self,
        op: &Op<'_>,
        places: &[Vec<usize>],
        at: Option<Time>,
    ) -> Result<Decision, StoreError> {
        let name = unique();
        let own = Id::new(&name).ok();
        let reserve = Op { act: Act::Reserve, id: op.id.or(own), ..*op };
        let answers = Some(op.id.map_or(Answers::LetBe, |_| Answers::Remember(op.act)));
        let reserves: Vec<_> =
            parts(&reserve, places).into_iter().map(|part| Part { answers, ..part }).collect();
        let decided = self.decide(&reserves, at).await;

        let allows = |decided: &Result<Decided, StoreError>| {
            decided.as_ref().is_ok_and(|decided| decided.allowed)
        };
        if decided.iter().all(allows) {
            if op.act == Act::Check {
                self.close(&reserve, places, at).await;
            }
            let decided = decided.into_iter().collect::<Result<Vec<_>, _>>()?;
            return Ok(Decided::explain_all(decided, true));
        }
        let mut left = Vec::with_capacity(places.len());
        for (decided, positions) in decided.into_iter().zip(places) {
            left.push(match decided {
                Ok(decided) if decided.allowed => self.give_back(op, &reserve, positions, at).await,
                other => other,
            });
        }
        let left = left.into_iter().collect::<Result<Vec<_>, _>>()?;
        let mut decision = Decided::explain_all(left, true);
        decision.allowed = false;
        Ok(decision)
    }

    /// What was reserved stands as it is. If that cannot be said, the reservation ends by itself.
    async fn close(&self, reserve: &Op<'_>, places: &[Vec<usize>], at: Option<Time>) {
        let settle = Op { act: Act::Settle, ..*reserve };
        let answers = Some(Answers::LetBe);
        let settles = parts(&settle, places).into_iter().map(|part| Part { answers, ..part });
        self.decide(&settles.collect::<Vec<_>>(), at).await;
    }

    /// Gives back what one place had allowed, and looks at what is left there. Limits that count denied
    /// attempts keep it.
    async fn give_back(
        &self,
        op: &Op<'_>,
        reserve: &Op<'_>,
        positions: &Positions,
        at: Option<Time>,
    ) -> Result<Decided, StoreError> {
        let counts = |position: &usize| {
            op.items.get(*position).is_some_and(|item| item.limit.counts_denied())
        };
        let (kept, given): (Vec<usize>, Vec<usize>) = positions.iter().partition(|p| counts(p));
        let settle = |cost, positions| {
            let op = Op { act: Act::Settle, cost, ..*reserve };
            Part { op, positions: Cow::Owned(positions), answers: Some(Answers::LetBe) }
        };
        let mut parts = vec![settle(0, given), settle(op.cost, kept)];
        parts.retain(|part| !part.positions.is_empty());
        // Otherwise a retry with the same id would be told that it was allowed.
        let forget = Op { act: Act::Release, ..*reserve };
        let forget = Part { op: forget, positions: Cow::Borrowed(positions), answers: None };
        parts.extend(op.id.map(|_| forget));
        let look = Op { act: Act::Peek, id: None, ..*op };
        parts.push(Part { op: look, positions: Cow::Borrowed(positions), answers: None });
        let mut done = self.decide(&parts, at).await;
        done.pop().unwrap_or_else(|| Err(StoreError::unanswered()))
    }

    /// One place could not take it, so the others give back the newest, which it was just now.
    async fn take_back_charge(
        &self,
        op: &Op<'_>,
        places: &[Vec<usize>],
        decided: &[Result<Decided, StoreError>],
        at: Option<Time>,
    ) {
        let refund = Op { act: Act::Refund, id: None, ..*op };
        let charged = parts(&refund, places).into_iter().zip(decided);
        let charged = charged.filter(|(_, decided)| decided.is_ok()).map(|(part, _)| part);
        self.decide(&charged.collect::<Vec<_>>(), at).await;
    }
}

fn parts<'a, 'p>(op: &Op<'a>, places: &'p [Vec<usize>]) -> Vec<Part<'a, 'p>> {
    let part = |positions: &'p Vec<usize>| Part {
        op: *op,
        positions: Cow::Borrowed(positions.as_slice()),
        answers: None,
    };
    places.iter().map(part).collect()
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
