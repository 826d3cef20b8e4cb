//! Operations, all or nothing, whose subjects live in different slots of a cluster.
//!
//! No script can reach two cluster nodes. So every slot is asked first (`prepare`). If one denies, that is the
//! decision, and nothing is changed but limits that count denied attempts. If all allow, the cost is
//! reserved in every slot, and then committed, or rolled back if another operation came in between. These
//! are the bounds:
//!
//! * An operation is never admitted wrongly. Meanwhile others may be denied because of a cost that is
//!   rolled back a moment later.
//! * A roll-back settles, it does not refund: the key is as if the operation had never been, or stricter,
//!   by less than one unit.
//! * If this process or the connection to a cluster node dies in between, the cost stays charged where it was
//!   reserved: at most the cost of that one operation in each slot, and it leaves as any other cost does.
//!   A retry with the same id is counted in addition.
//! * A lease is renewed in all slots or in none, unless it ends in one of them while it is renewed: then the
//!   operation is not allowed, and the lease lasts longer in the others.
//! * A charge, a settlement or a denied attempt that counts is tried first (a dry run), and refused before
//!   any slot takes it if the debt would be too large in one of them. If other operations come in between, a
//!   charge is refunded in the other slots; a settlement or an attempt stands.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use tollgate_core::storage::Handle;
use tollgate_core::{Act, Decision, Item, Op, StoreError, Time};

use crate::call::SlotOp;
use crate::call::reply::ScriptDecision;
use crate::shape::{Costs, Idempotency, all_positions};
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
        let decision = match op.act {
            Act::Reserve => cross_slot.take().await,
            Act::Check | Act::Charge if cross_slot.has_cost() => cross_slot.take().await,
            Act::Settle | Act::Release | Act::Renew => cross_slot.follow_up().await,
            _ => cross_slot.apply_each().await,
        };
        Ok(decision?.answer(op))
    }
}

type SlotResult = Result<ScriptDecision, StoreError>;

impl<'s, 'a> CrossSlot<'s, 'a> {
    /// Whether any limit, in any slot, takes or gives anything: then all slots remember it.
    fn has_cost(&self) -> bool {
        Costs::of(self.op, all_positions(self.op)) != Costs::None
    }

    /// Applies the operation in each slot by itself. If it changes, or has changed, anything in any slot, all
    /// slots keep its reply.
    async fn apply_each(&self) -> SlotResult {
        // Checks and charges are here without a cost, so that they are not remembered.
        let is_remembered = matches!(self.op.act, Act::Refund | Act::Reset) && self.op.id.is_some();
        let changes = is_remembered && self.prepare().await?.iter().any(|slot| slot.allowed);
        self.apply_parts(changes, None).await
    }

    async fn apply_parts(
        &self,
        assume_changed: bool,
        idempotency: Option<Idempotency>,
    ) -> SlotResult {
        let parts = self.parts(self.op).into_iter();
        let parts = parts.map(|part| SlotOp { assume_changed, idempotency, ..part });
        Ok(ScriptDecision::merge(all_of(self.run(parts.collect()).await)?))
    }

    /// Applies an operation that acts on what an earlier one left, once it is known which slots have it. A
    /// settlement may also fail in one slot, and must then change nothing in the others.
    async fn follow_up(&self) -> SlotResult {
        let found = self.prepare().await?;
        let (any, all) =
            (found.iter().any(|slot| slot.allowed), found.iter().all(|slot| slot.allowed));
        match self.op.act {
            Act::Settle if all => self.apply_parts(true, None).await,
            // It acts wherever it finds something, and is not remembered, since it is not allowed.
            Act::Settle => self.apply_parts(false, Some(Idempotency::Recall(Act::Settle))).await,
            Act::Release => self.apply_parts(any, None).await,
            Act::Renew if all => self.apply_parts(false, None).await,
            _ => self.deny_unchanged().await,
        }
    }

    /// Denies an operation that has left everything as it was.
    async fn deny_unchanged(&self) -> SlotResult {
        let peek = self.op.with_act(Act::Peek).without_id();
        let mut decision = ScriptDecision::merge(all_of(self.run(self.parts(&peek)).await)?);
        decision.allowed = false;
        Ok(decision)
    }

    async fn run(&self, parts: Vec<SlotOp<'_, '_>>) -> Vec<SlotResult> {
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
    async fn take(&self) -> SlotResult {
        let mut decisions = self.prepare().await?;
        // A lease that was taken under the id has ended, so that all of it is decided again.
        let is_again = decisions.iter().any(|slot| slot.lapsed);
        if is_again {
            decisions = self.prepare_with(Idempotency::Ignore).await?;
        }
        if decisions.iter().all(|slot| slot.remembered) {
            return Ok(ScriptDecision::merge(decisions));
        }
        if self.op.act.can_be_denied() && !decisions.iter().all(|slot| slot.allowed) {
            return self.deny(decisions).await;
        }
        let handle = unique_handle();
        let taken = self.take_where_new(&decisions, handle).await;
        if !taken.iter().all(|taken| self.was_taken(taken)) {
            return self.roll_back(&decisions, taken, handle).await;
        }
        let replies: Vec<Vec<u8>> = taken.iter().map(|taken| self.reply_to_keep(taken)).collect();
        self.commit(&decisions, handle, &replies, is_again).await;
        for (slot, taken) in decisions.iter_mut().filter(|slot| !slot.remembered).zip(taken) {
            *slot = taken?;
        }
        Ok(ScriptDecision::merge(decisions))
    }

    /// Asks every slot what it would decide, and whether it keeps a reply under the same id. An operation
    /// that cannot be denied is tried in a dry run, since the debt may be too large;
    /// [`ScriptDecision::allowed`] says what that finds out.
    async fn prepare(&self) -> Result<Vec<ScriptDecision>, StoreError> {
        let recall = |_| Idempotency::Recall(self.op.act);
        self.prepare_with(self.op.id.map_or(Idempotency::Ignore, recall)).await
    }

    async fn prepare_with(
        &self,
        idempotency: Idempotency,
    ) -> Result<Vec<ScriptDecision>, StoreError> {
        let act = if self.op.act.can_be_denied() { Act::Peek } else { self.op.act };
        let (op, idempotency) = (self.op.with_act(act), Some(idempotency));
        let parts = self.parts(&op).into_iter();
        let parts = parts.map(|part| SlotOp { idempotency, dry_run: true, ..part }).collect();
        all_of(self.run(parts).await)
    }

    /// Denies the operation. Limits that count denied attempts still count it.
    async fn deny(&self, prepared: Vec<ScriptDecision>) -> SlotResult {
        let counts = |position: &usize| self.counts_denied(*position);
        // Without the id: it is not remembered, and holds nothing.
        let charge = self.op.with_act(Act::Charge).without_id();
        let counted = self.slots.iter().map(|slot| slot.iter().copied().filter(counts));
        let counted = counted.map(Iterator::collect::<Vec<usize>>).filter(|some| !some.is_empty());
        let charges: Vec<SlotOp<'_, '_>> =
            counted.map(|positions| SlotOp::new(&charge, positions)).collect();
        if charges.len() > 1 {
            let tries = charges.iter().cloned().map(|part| SlotOp { dry_run: true, ..part });
            all_of(self.run(tries.collect()).await)?;
        }
        let counted = all_of(self.run(charges).await)?;
        Ok(ScriptDecision::merge_newer(prepared, counted))
    }

    /// Takes the cost in the slots that have not done the operation before.
    async fn take_where_new(&self, prepared: &[ScriptDecision], handle: Handle) -> Vec<SlotResult> {
        let act = if self.op.act == Act::Charge { Act::Charge } else { Act::Reserve };
        let take = self.op.with_act(act);
        let parts = self.new_parts(&take, prepared).into_iter().map(|part| SlotOp {
            idempotency: Some(Idempotency::Ignore),
            internal_handle: Some(handle),
            skip_empty: self.op.act == Act::Check,
            ..part
        });
        self.run(parts.collect()).await
    }

    /// Returns the reply that a slot keeps under the caller's id, for a retry.
    fn reply_to_keep(&self, taken: &SlotResult) -> Vec<u8> {
        let mut reply = Vec::new();
        if let (Ok(taken), Some(_)) = (taken, self.op.id) {
            taken.terms().write_to(&mut reply);
            reply.extend_from_slice(&taken.bytes);
        }
        reply
    }

    /// Makes what was taken the caller's, under the caller's id. If a slot cannot be reached, its
    /// reservation expires by itself, and a retry is counted again. Done again under its id, it is remembered in place
    /// of the first time.
    async fn commit(
        &self,
        prepared: &[ScriptDecision],
        handle: Handle,
        replies: &[Vec<u8>],
        is_again: bool,
    ) {
        if self.op.act == Act::Charge && self.op.id.is_none() {
            return;
        }
        let settle = self.op.with_act(Act::Settle);
        // A reservation of nothing took nothing, so that it need not be remembered. A slot that took nothing
        // remembers it if another took something, since a retry asks all slots.
        let id = self.op.id.filter(|_| self.has_cost());
        let idempotency = match id {
            None => Idempotency::Ignore,
            Some(_) if is_again => Idempotency::Replace(self.op.act),
            Some(_) => Idempotency::Remember(self.op.act),
        };
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
        handle: Handle,
    ) -> SlotResult {
        let parts = self.new_parts(self.op, prepared).into_iter().zip(&taken);
        for (part, _) in parts.filter(|(_, taken)| self.was_taken(taken)) {
            self.give_back(&part.positions, handle).await;
        }
        // If one of them may have been done, that is what the caller has to know.
        let errors = taken.into_iter().filter_map(Result::err);
        if let Some(error) = errors.min_by_key(StoreError::is_refused) {
            return Err(error);
        }
        self.deny_unchanged().await
    }

    /// Gives back what one slot has taken. Limits that count denied attempts keep it.
    async fn give_back(&self, positions: &[usize], handle: Handle) {
        if self.op.act == Act::Charge {
            let refund = self.op.with_act(Act::Refund).without_id();
            self.run(vec![SlotOp::new(&refund, positions)]).await;
            return;
        }
        let (kept, given): (Vec<usize>, Vec<usize>) =
            positions.iter().partition(|position| self.counts_denied(**position));
        let (idempotency, internal_handle) = (Some(Idempotency::Ignore), Some(handle));
        let nothing: Vec<Item<'_>> =
            self.op.items.iter().map(|item| Item { cost: 0, ..*item }).collect();
        let settle = |items, positions: Vec<usize>| {
            let op = self.op.with_items(items).with_act(Act::Settle).without_id();
            SlotOp { idempotency, internal_handle, ..SlotOp::new(&op, positions) }
        };
        let mut parts = vec![settle(&nothing, given), settle(self.op.items, kept)];
        parts.retain(|part| !part.positions.is_empty());
        self.run(parts).await;
    }
}

/// Returns the decisions of all slots, or the first error.
fn all_of(results: Vec<SlotResult>) -> Result<Vec<ScriptDecision>, StoreError> {
    results.into_iter().collect()
}

/// Returns a handle that no other operation has, by which what this one reserves is found.
fn unique_handle() -> Handle {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    let random = RandomState::new();
    Handle::from_words([random.hash_one(next), random.hash_one(next ^ u64::MAX)])
}
