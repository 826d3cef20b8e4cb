//! Decisions without the store, and what becomes of them when it is back.
//!
//! While the store is unavailable, what is allowed here is counted in memory. Afterwards each key is charged
//! to the store with what still counts then: never with the sum of the outage, most of which has drained or
//! left its window meanwhile.
//!
//! An operation that was sent and got no reply is not charged: the store may have done it, or may do it yet, and
//! would count it twice.
//!
//! A node that decides by its share counts that apart, and goes on from there when the store fails again: a
//! store that comes and goes does not renew the share.

use std::sync::{Arc, OnceLock};

use tokio::sync::Mutex;
use tollgate_core::{
    Act, Decision, Item, LimitStatus, LimitStatuses, Op, PlainStore, Source, Span, Store,
    StoreError, Time,
};

use super::share;
use super::uncharged::UnchargedKeys;
use crate::layers::budget::{self, Part};
use crate::layers::hash::Hash;
use crate::layers::node::Node;
use crate::layers::policies::{OnFailure, Policies};
use crate::layers::table::{Entry, Table};
use crate::memory::{MIN_MEMORY, MemoryStore, WhenFull};

/// For how many bytes of the memory there may be one state that is counted here.
const BYTES_PER_STATE: usize = 1024;
/// How many bytes a memory store may take for each of its states. Half of that is for the states themselves.
const STATE_BYTES: usize = 256;
/// How long a last decision is worth remembering, in microseconds.
const MAX_AGE: u64 = 60_000_000;

/// Decides in place of the store.
pub(super) struct Fallback {
    pub(super) node: Node,
    /// Created with the first failure.
    counts: OnceLock<Counts>,
    pub(super) uncharged: UnchargedKeys,
    /// The last decision of each key of policies that decide alone.
    last: Table<Last>,
    /// Locked by the task that charges the store.
    pub(super) recovery: Mutex<()>,
}

/// What is counted here.
pub(super) struct Counts {
    /// What was let pass and the store does not know of yet.
    pub(super) allowed: Arc<MemoryStore>,
    /// What policies with `local` have used of the share of this node.
    local: Arc<MemoryStore>,
}

/// The last decision of a key.
struct Last {
    /// How much of the limit at this position was used.
    used: u64,
    position: usize,
    at: Time,
}

impl Entry for Last {
    fn is_idle(&self, now: u64) -> bool {
        now.abs_diff(self.at.as_micros()) > MAX_AGE
    }
}

impl Fallback {
    pub(super) fn new(node: Node) -> Fallback {
        // Apart from those of all other tables: an outage must not find them full.
        let memory = budget::for_outages(node.max_memory);
        let max_states = (memory / BYTES_PER_STATE).max(1);
        let for_states = max_states.saturating_mul(2 * STATE_BYTES);
        Fallback {
            counts: OnceLock::new(),
            uncharged: UnchargedKeys::new(memory.saturating_sub(for_states), max_states),
            last: Table::new(Part::of(&node.budget)),
            recovery: Mutex::new(()),
            node,
        }
    }

    /// Returns the keys that are to be charged.
    pub(super) fn uncharged(&self) -> &UnchargedKeys {
        &self.uncharged
    }

    /// Returns how many bytes the counts take.
    pub(super) fn memory(&self) -> usize {
        let counts = self
            .counts
            .get()
            .map_or(0, |all| all.allowed.memory().saturating_add(all.local.memory()));
        self.uncharged.bytes().saturating_add(counts)
    }

    pub(super) fn counts(&self) -> &Counts {
        self.counts.get_or_init(|| {
            let store = |when_full| {
                let max_states = self.uncharged.max_states();
                let store = MemoryStore::builder()
                    .max_keys(max_states)
                    .max_memory(max_states.saturating_mul(STATE_BYTES).max(MIN_MEMORY))
                    .when_full(when_full);
                // It fails only if there is no room for a single key.
                store.clock(self.node.clock.clone()).build().unwrap_or_default()
            };
            Counts { allowed: store(WhenFull::Allow), local: store(WhenFull::Deny) }
        })
    }

    /// Remembers the decision of the store, for policies that decide alone when it fails.
    pub(super) fn remember(&self, op: &Op<'_>, decision: &Decision, policies: &Policies) {
        let is_used =
            op.act == Act::Check && policies.get(op.policy).on_failure == OnFailure::Local;
        let (true, Some(limit), Some(remaining)) = (is_used, decision.limit, decision.remaining)
        else {
            return;
        };
        let (hash, at) = (self.hash(op), self.node.clock.now());
        let used = limit.saturating_sub(remaining);
        if let Some(mut last) = self.last.lock(hash) {
            last.insert(hash, Last { used, position: decision.bound_by, at }, at.as_micros());
        }
    }

    fn hash(&self, op: &Op<'_>) -> Hash {
        self.node.secret.key(op).whole()
    }

    /// Decides a check or a peek without the store. `is_charged` is whether the store is charged afterwards with
    /// what is allowed. Ids are not remembered: a retry counts again, here or when the store is back.
    pub(super) fn decide(
        &self,
        op: &Op<'_>,
        at: Option<Time>,
        on_failure: OnFailure,
        is_charged: bool,
    ) -> Result<Decision, StoreError> {
        let (hash, has_id) = (self.hash(op), op.id.is_some());
        let op = &op.without_id();
        let is_check = op.act == Act::Check && op.has_cost();
        let is_charged = is_charged && is_check;
        let mut decision = match on_failure {
            OnFailure::Local => self.decide_by_share(hash, op, at, is_charged)?,
            _ => self.allow(hash, op, at, is_charged)?,
        };
        decision.degraded = true;
        decision.not_remembered = has_id && is_check && decision.allowed;
        Ok(decision)
    }

    fn allow(
        &self,
        hash: Hash,
        op: &Op<'_>,
        at: Option<Time>,
        is_charged: bool,
    ) -> Result<Decision, StoreError> {
        let counted = if is_charged { self.count(hash, op, at) } else { None };
        let mut decision = match counted {
            Some(counted) => counted?,
            None if self.uncharged.contains(hash) => {
                self.counts().allowed.apply_one(&op.with_act(Act::Peek), at)?
            }
            None => self.decide_without_state(op, at)?,
        };
        decision.source = Source::FailureMode;
        // What can never fit is denied in any case.
        if decision.retry_after.is_some() {
            decision.allowed = true;
            decision.retry_after = Some(Span::ZERO);
        }
        Ok(decision)
    }

    /// Counts what is allowed, so that it is charged afterwards; `None` without room for it.
    fn count(
        &self,
        hash: Hash,
        op: &Op<'_>,
        at: Option<Time>,
    ) -> Option<Result<Decision, StoreError>> {
        if !self.uncharged.note(hash, op) {
            return None;
        }
        let counted = self.counts().allowed.apply_one(op, at);
        // Once more: the key may have been charged and removed before this was counted.
        self.uncharged.note(hash, op);
        Some(counted)
    }

    /// Decides an operation that needs no state, as any store would.
    pub(super) fn decide_without_state(
        &self,
        op: &Op<'_>,
        at: Option<Time>,
    ) -> Result<Decision, StoreError> {
        PlainStore::default().apply_one(op, at.unwrap_or_else(|| self.node.clock.now()))
    }

    fn decide_by_share(
        &self,
        hash: Hash,
        op: &Op<'_>,
        at: Option<Time>,
        is_charged: bool,
    ) -> Result<Decision, StoreError> {
        let limits = share::limits(op, self.node.nodes);
        let items = share::items(op, &limits);
        let op_here = op.with_items(&items);
        if !self.uncharged.contains(hash) {
            self.warm_up(hash, &op_here)?;
        }
        let decision = self.counts().local.apply_one(&op_here, at)?;
        if decision.allowed && is_charged {
            let mut charge = op.with_act(Act::Charge);
            charge.statuses = None;
            self.count(hash, &charge, at);
        }
        Ok(decision.with_source(Source::Local))
    }

    /// Begins with this node's share of what was used when the store decided last, unless as much is counted
    /// here already: from an earlier failure, or for another key with a subject in common.
    fn warm_up(&self, hash: Hash, op: &Op<'_>) -> Result<(), StoreError> {
        let last = self.last.lock(hash).and_then(|mut last| last.remove(hash));
        let Some(Last { used, position, at }) = last else { return Ok(()) };
        let local = &self.counts().local;
        let known = used_before(local, &op.with_act(Act::Peek), Some(at));
        let known = known.get(position).copied().unwrap_or(0);
        let missing = used.div_ceil(u64::from(self.node.nodes.max(1))).saturating_sub(known);
        let cost = |index: usize| if index == position { missing } else { 0 };
        let items = op.items.iter().enumerate();
        let items: Vec<Item<'_>> =
            items.map(|(index, item)| Item { cost: cost(index), ..*item }).collect();
        let mut charge = op.with_items(&items).with_act(Act::Charge);
        charge.statuses = None;
        let _ = local.apply_one(&charge, Some(at))?;
        Ok(())
    }
}

/// Applies an operation, and returns how much of each limit was used before.
pub(super) fn used_before(store: &MemoryStore, op: &Op<'_>, at: Option<Time>) -> Vec<u64> {
    let statuses = LimitStatuses::default();
    let mut peek = op.with_act(Act::Peek).without_id();
    peek.statuses = Some(&statuses);
    let mut out = [Err(StoreError::unanswered()), Err(StoreError::unanswered())];
    // In memory everything is ready at once.
    let _ = store.apply(&[peek, *op], at, &mut out);
    let used = |status: &LimitStatus| match (status.limit, status.remaining) {
        (Some(limit), Some(remaining)) => limit.saturating_sub(remaining),
        _ => 0,
    };
    statuses.to_vec().iter().map(used).collect()
}
