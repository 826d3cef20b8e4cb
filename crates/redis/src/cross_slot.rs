//! Operations, all or nothing, whose subjects live in different slots of a cluster.
//!
//! No script can reach two nodes. So every slot is asked first (`prepare`). If one denies, that is the
//! decision, and nothing is changed but limits that count denied attempts. If all allow, the cost is
//! reserved in every slot, and then committed, or rolled back if another operation came in between. These
//! are the bounds:
//!
//! * An operation is never admitted wrongly. Meanwhile others may be denied because of a cost that is
//!   rolled back a moment later.
//! * A roll-back settles, it does not refund: the key is as if the operation had never been, or stricter,
//!   by less than one unit.
//! * If this process or the connection to a node dies in between, the cost stays charged where it was
//!   reserved: at most the cost of that one operation in each slot, and it leaves as any other cost does.
//!   A retry with the same id is counted in addition.
//! * A charge or settlement that would make too large a debt in one slot is tried first (a dry run), and
//!   refused before any other slot takes it. If other operations come in between, a charge is refunded in
//!   the other slots; a settlement stands.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use tollgate_core::{Act, Decision, Op, StoreError, Time};

use crate::call::SlotOp;
use crate::call::reply::{CallTerms, ScriptDecision};
use crate::shape::Idempotency;
use crate::store::RedisStore;

/// An operation, and the positions of its limits by slot.
struct CrossSlot<'s, 'a> {
    store: &'s RedisStore,
    op: &'s Op<'a>,
    slots: &'s [Vec<usize>],
    at: Option<Time>,
}

impl RedisStore {
    /// Applies an operation whose limits live in several slots.
    pub(crate) async fn apply_cross_slot(
        &self,
        op: &Op<'_>,
        slots: &[Vec<usize>],
        at: Option<Time>,
    ) -> Result<Decision, StoreError> {
        let cross_slot = CrossSlot { store: self, op, slots, at };
        match op.act {
            Act::Reserve => cross_slot.take().await,
            Act::Check | Act::Charge if op.cost > 0 => cross_slot.take().await,
            _ => cross_slot.apply_each().await,
        }
    }
}

type SlotResult = Result<ScriptDecision, StoreError>;

impl<'s, 'a> CrossSlot<'s, 'a> {
    /// Applies the operation in each slot by itself.
    async fn apply_each(&self) -> Result<Decision, StoreError> {
        let assume_changed = self.would_change().await?;
        let parts = self.parts(self.op).into_iter().map(|part| SlotOp { assume_changed, ..part });
        let decisions = self.run(parts.collect()).await;
        let decisions = decisions.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok(ScriptDecision::merge(decisions, self.op.act.can_be_denied()))
    }

    /// Whether the operation changes, or has changed, anything in any slot: then all slots keep its reply.
    /// Asks only where that matters.
    async fn would_change(&self) -> Result<bool, StoreError> {
        let remembered = self.op.id.is_some() && self.op.act.is_remembered();
        if !remembered && self.op.act != Act::Settle {
            return Ok(false);
        }
        Ok(self.prepare().await?.iter().any(|slot| slot.allowed))
    }

    async fn run(&self, parts: Vec<SlotOp<'a, '_>>) -> Vec<SlotResult> {
        self.store.run_parts(&parts, self.at).await
    }

    fn parts<'p>(&self, op: &Op<'a>) -> Vec<SlotOp<'a, 'p>>
    where
        's: 'p,
    {
        self.slots.iter().map(|positions| SlotOp::new(op, positions.as_slice())).collect()
    }

    /// Returns the parts of the slots that have not done the operation before.
    fn new_parts<'p>(&self, op: &Op<'a>, prepared: &[ScriptDecision]) -> Vec<SlotOp<'a, 'p>>
    where
        's: 'p,
    {
        let parts = self.parts(op).into_iter().zip(prepared);
        parts.filter(|(_, prepared)| !prepared.remembered).map(|(part, _)| part).collect()
    }

    fn counts_denied(&self, position: usize) -> bool {
        self.op.items.get(position).is_some_and(|item| item.limit.counts_denied())
    }

    /// Whether a slot has taken the cost.
    fn was_taken(&self, taken: &SlotResult) -> bool {
        taken.as_ref().is_ok_and(|taken| taken.allowed || !self.op.act.can_be_denied())
    }

    /// Takes the cost in all slots, or in none.
    async fn take(&self) -> Result<Decision, StoreError> {
        let can_be_denied = self.op.act.can_be_denied();
        let mut decisions = self.prepare().await?;
        if decisions.iter().all(|slot| slot.remembered) {
            return Ok(ScriptDecision::merge(decisions, can_be_denied));
        }
        if can_be_denied && !decisions.iter().all(|slot| slot.allowed) {
            return self.deny(decisions).await;
        }
        let handle = unique_handle();
        let taken = self.take_where_new(&decisions, &handle).await;
        if !taken.iter().all(|taken| self.was_taken(taken)) {
            return self.roll_back(&decisions, taken, &handle).await;
        }
        let replies: Vec<Vec<u8>> = taken.iter().map(|taken| self.reply_to_keep(taken)).collect();
        self.commit(&decisions, &handle, &replies).await;
        for (slot, taken) in decisions.iter_mut().filter(|slot| !slot.remembered).zip(taken) {
            *slot = taken?;
        }
        Ok(ScriptDecision::merge(decisions, can_be_denied))
    }

    /// Asks every slot what it would decide, and whether it keeps a reply under the same id. An operation
    /// that cannot be denied is tried in a dry run, since the debt may be too large; its `allowed` says
    /// whether it would change anything.
    async fn prepare(&self) -> Result<Vec<ScriptDecision>, StoreError> {
        let act = if self.op.act.can_be_denied() { Act::Peek } else { self.op.act };
        let op = Op { act, ..*self.op };
        let idempotency =
            Some(self.op.id.map_or(Idempotency::Ignore, |_| Idempotency::Recall(self.op.act)));
        let parts = self.parts(&op).into_iter();
        let parts = parts.map(|part| SlotOp { idempotency, dry_run: true, ..part }).collect();
        self.run(parts).await.into_iter().collect()
    }

    /// Denies the operation. Limits that count denied attempts still count it.
    async fn deny(&self, prepared: Vec<ScriptDecision>) -> Result<Decision, StoreError> {
        let counts = |position: &usize| self.counts_denied(*position);
        let charge = Op { act: Act::Charge, id: None, ..*self.op };
        let counted = self.slots.iter().map(|slot| slot.iter().copied().filter(counts));
        let counted = counted.map(Iterator::collect::<Vec<usize>>).filter(|some| !some.is_empty());
        let charges = counted.map(|positions| SlotOp::new(&charge, positions)).collect();
        let counted = self.run(charges).await.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok(ScriptDecision::merge_newer(prepared, counted))
    }

    /// Takes the cost in the slots that have not done the operation before.
    async fn take_where_new(&self, prepared: &[ScriptDecision], handle: &[u8]) -> Vec<SlotResult> {
        let act = if self.op.act == Act::Charge { Act::Charge } else { Act::Reserve };
        let take = Op { act, ..*self.op };
        let (idempotency, internal_handle) = (Some(Idempotency::Ignore), Some(handle));
        let parts = self.new_parts(&take, prepared).into_iter();
        self.run(parts.map(|part| SlotOp { idempotency, internal_handle, ..part }).collect()).await
    }

    /// Returns the reply that a slot keeps under the caller's id, for a retry.
    fn reply_to_keep(&self, taken: &SlotResult) -> Vec<u8> {
        let mut reply = Vec::new();
        if let (Ok(taken), Some(_)) = (taken, self.op.id) {
            let capacities = taken.capacities();
            CallTerms { cost: self.op.cost, capacities }.write_to(&mut reply);
            reply.extend_from_slice(&taken.bytes);
        }
        reply
    }

    /// Makes what was taken the caller's, under the caller's id. If a slot cannot be reached, its
    /// reservation expires by itself, and a retry is counted again.
    async fn commit(&self, prepared: &[ScriptDecision], handle: &[u8], replies: &[Vec<u8>]) {
        if self.op.act == Act::Charge && self.op.id.is_none() {
            return;
        }
        let settle = Op { act: Act::Settle, ..*self.op };
        // A reservation of nothing took nothing, so that it need not be remembered.
        let id = self.op.id.filter(|_| self.op.cost > 0);
        let idempotency = id.map_or(Idempotency::Ignore, |_| Idempotency::Remember(self.op.act));
        let parts = self.new_parts(&settle, prepared).into_iter();
        let parts = parts.zip(replies).map(|(part, reply)| SlotOp {
            idempotency: Some(idempotency),
            internal_handle: Some(handle),
            commits: Some((self.op.act, reply.as_slice())),
            ..part
        });
        let parts: Vec<SlotOp<'_, '_>> = parts.collect();
        let mut committed = self.store.run_parts(&parts, self.at).await;
        for (part, result) in parts.iter().zip(&mut committed) {
            // A second commit does nothing, so that it can be sent again.
            if result.as_ref().is_err_and(StoreError::is_unavailable) {
                let again = self.store.run_parts(std::slice::from_ref(part), self.at).await;
                *result = again.into_iter().next().unwrap_or(Err(StoreError::unanswered()));
            }
            // Another call with the same id committed first, so that this one would count twice.
            if result.as_ref().is_ok_and(|committed| committed.remembered) {
                self.give_back(&part.positions, handle).await;
            }
        }
    }

    /// Gives back what some slots have taken, because not every slot could take it.
    async fn roll_back(
        &self,
        prepared: &[ScriptDecision],
        taken: Vec<SlotResult>,
        handle: &[u8],
    ) -> Result<Decision, StoreError> {
        let parts = self.new_parts(self.op, prepared).into_iter().zip(&taken);
        for (part, _) in parts.filter(|(_, taken)| self.was_taken(taken)) {
            self.give_back(&part.positions, handle).await;
        }
        for taken in taken {
            taken?;
        }
        let peek = Op { act: Act::Peek, id: None, ..*self.op };
        let left = self.run(self.parts(&peek)).await.into_iter().collect::<Result<Vec<_>, _>>()?;
        let mut decision = ScriptDecision::merge(left, true);
        decision.allowed = false;
        Ok(decision)
    }

    /// Gives back what one slot has taken. Limits that count denied attempts keep it.
    async fn give_back(&self, positions: &[usize], handle: &[u8]) {
        if self.op.act == Act::Charge {
            let refund = Op { act: Act::Refund, id: None, ..*self.op };
            self.run(vec![SlotOp::new(&refund, positions)]).await;
            return;
        }
        let (kept, given): (Vec<usize>, Vec<usize>) =
            positions.iter().partition(|position| self.counts_denied(**position));
        let (idempotency, internal_handle) = (Some(Idempotency::Ignore), Some(handle));
        let settle = |cost, positions: Vec<usize>| {
            let op = Op { act: Act::Settle, cost, id: None, ..*self.op };
            SlotOp { idempotency, internal_handle, ..SlotOp::new(&op, positions) }
        };
        let mut parts = vec![settle(0, given), settle(self.op.cost, kept)];
        parts.retain(|part| !part.positions.is_empty());
        self.run(parts).await;
    }
}

/// Returns a handle that no other operation has, by which what this one reserves is found.
fn unique_handle() -> [u8; 16] {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    let random = RandomState::new();
    let mut handle = [0; 16];
    let halves = [random.hash_one(next), random.hash_one(next ^ u64::MAX)];
    for (out, byte) in handle.iter_mut().zip(halves.iter().flat_map(|half| half.to_le_bytes())) {
        *out = byte;
    }
    handle
}
