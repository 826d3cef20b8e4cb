//! The store: turns operations into calls of scripts, and replies into decisions.

use std::slice;
use std::sync::Arc;

use futures_util::future::join_all;
use tollgate_core::remote::{LimitParams as _, RemoteLimit, RemoteState, remote_decision};
use tollgate_core::storage::OpStorage as _;
use tollgate_core::{Act, Apply, Decision, Item, Op, Store, StoreError, Time, apply_one};

use crate::call::keys::Prefix;
use crate::call::reply::{Reply, ScriptDecision};
use crate::call::task::{Decisions, Task, ready};
use crate::call::{Call, SlotOp, When, forget_all, validate};
use crate::connection::node::Node;
use crate::connection::{Connection, send_one};
use crate::script::Scripts;
use crate::shape::all_positions;

/// Maximum number of operations on several slots that are under way at once for one call.
const MAX_CROSSING: usize = 64;

/// Limits over Redis, Valkey, Sentinel or Redis Cluster.
///
/// Share it between tasks in an `Arc`. Connections are opened when they are needed, opened again when they
/// break, and shared by all callers. However many callers there are, in this process or in others, each
/// operation is atomic: they are admitted exactly as often as one caller. (Where the subjects of one
/// operation live in different slots of a cluster, it may be denied because of a concurrent one; it is
/// never admitted wrongly.)
pub struct RedisStore {
    pub(crate) connection: Connection,
    pub(crate) prefix: Prefix,
    pub(crate) scripts: Scripts,
}

impl std::fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RedisStore").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

impl RedisStore {
    /// Applies one operation, at the given time or by the server's clock.
    ///
    /// # Errors
    /// Fails as described for [`apply`](Store::apply).
    pub async fn apply_one(&self, op: &Op<'_>, at: Option<Time>) -> Result<Decision, StoreError> {
        apply_one(self, op, at).await
    }

    async fn apply_all(
        &self,
        ops: &[Op<'_>],
        at: Option<Time>,
        out: &mut [Result<Decision, StoreError>],
    ) {
        // Operations in one slot are collected and sent together, up to the next one in several slots; and so are
        // those, up to the next one in one slot, or on a subject of one of them.
        let mut batch: Vec<(SlotOp<'_, '_>, &mut Result<Decision, StoreError>)> = Vec::new();
        let mut crossing: Vec<CrossSlotOp<'_, '_>> = Vec::new();
        for (op, out) in ops.iter().zip(out) {
            if let Some(decision) = decide_locally(op) {
                *out = decision;
                continue;
            }
            let mut slots = self.connection.positions_by_slot(op, &self.prefix);
            if slots.len() > 1 {
                self.apply_batch(std::mem::take(&mut batch), at).await;
                if crossing.len() >= MAX_CROSSING || crossing.iter().any(|it| it.shares_subject(op))
                {
                    self.apply_crossing(std::mem::take(&mut crossing), at).await;
                }
                crossing.push(CrossSlotOp { op, slots, out });
            } else {
                self.apply_crossing(std::mem::take(&mut crossing), at).await;
                batch.push((SlotOp::new(op, slots.pop().unwrap_or_default()), out));
            }
        }
        self.apply_crossing(crossing, at).await;
        self.apply_batch(batch, at).await;
    }

    /// Applies operations on several slots, and on different subjects, beside each other.
    async fn apply_crossing(&self, ops: Vec<CrossSlotOp<'_, '_>>, at: Option<Time>) {
        let each = ops.into_iter().map(async |CrossSlotOp { op, slots, out }| {
            *out = self.apply_cross_slot(op, &slots, at).await;
        });
        join_all(each).await;
    }

    /// Applies one operation on one server: the common case. It holds nothing that only other cases need,
    /// since everything that a future holds is moved with it.
    async fn apply_single(
        &self,
        node: &Arc<Node>,
        op: &Op<'_>,
        at: Option<Time>,
    ) -> Result<Decision, StoreError> {
        if let Some(decision) = decide_locally(op) {
            return decision;
        }
        let part = SlotOp::new(op, all_positions(op));
        let mut when = When::new(at);
        loop {
            let call = Call::new(&part, &when, &self.prefix, &self.scripts);
            let reply = send_one(node, &call).await;
            let reply = reply.and_then(|bytes| Reply::parse(bytes, &call.terms));
            if let Some(decision) = interpret(reply, &mut when) {
                return decision.map(|decision| decision.answer(op));
            }
        }
    }

    /// Resets subjects whose states cannot be read: there is nothing to be kept of them.
    async fn reset_damaged(&self, op: &Op<'_>, at: Option<Time>) -> Result<Decision, StoreError> {
        for forgotten in self.connection.send(&forget_all(op, &self.prefix)).await {
            forgotten?;
        }
        let mut out = Err(StoreError::unanswered());
        self.apply_all(slice::from_ref(op), at, slice::from_mut(&mut out)).await;
        // Part of it is done.
        out.map_err(|error| if error.is_refused() { StoreError::unavailable(error) } else { error })
    }

    /// Applies operations that live in one slot each; consecutive checks of one key in one call.
    async fn apply_batch(
        &self,
        batch: Vec<(SlotOp<'_, '_>, &mut Result<Decision, StoreError>)>,
        at: Option<Time>,
    ) {
        let (parts, out): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
        let tasks = Task::of_all(&parts);
        let sizes = tasks.iter().map(Task::len).collect();
        let mut asked = Asked { out, sizes, sent: vec![false; tasks.len()] };
        let results = self.run_tasks(&tasks, at, &mut asked.sent).await;
        let mut out = parts.iter().zip(&mut asked.out);
        for (task, result) in tasks.iter().zip(results) {
            let out = out.by_ref().take(task.len());
            match result {
                Ok(decisions) => {
                    for ((part, out), decision) in out.zip(decisions) {
                        **out = Ok(decision.answer(&part.op));
                    }
                }
                Err(error) => out.for_each(|(_, out)| **out = Err(error.clone())),
            }
        }
    }

    /// Runs each part in its slot; those of one slot in their order.
    pub(crate) async fn run_parts(
        &self,
        parts: &[SlotOp<'_, '_>],
        at: Option<Time>,
    ) -> Vec<Result<ScriptDecision, StoreError>> {
        let tasks: Vec<Task<'_, '_, '_>> = parts.iter().map(Task::Part).collect();
        let one = |result: Result<Decisions, StoreError>| {
            result.and_then(|decisions| {
                decisions.into_iter().next().ok_or_else(StoreError::unanswered)
            })
        };
        let mut sent = vec![false; tasks.len()];
        self.run_tasks(&tasks, at, &mut sent).await.into_iter().map(one).collect()
    }

    /// Runs each task in its slot; those of one slot in their order. Returns a decision for each operation
    /// of a task, and notes which of them it sends.
    async fn run_tasks(
        &self,
        tasks: &[Task<'_, '_, '_>],
        at: Option<Time>,
        sent: &mut [bool],
    ) -> Vec<Result<Decisions, StoreError>> {
        let mut whens = vec![When::new(at); tasks.len()];
        let mut out: Vec<Option<Result<Decisions, StoreError>>> =
            tasks.iter().map(|_| None).collect();
        // The first of the undecided is always sent, so that each round decides it or asks once more.
        while out.iter().any(Option::is_none) {
            self.call_undecided(tasks, &mut whens, &mut out, sent).await;
        }
        out.into_iter().flatten().collect()
    }

    /// Calls the scripts of those tasks that have no decision yet and need not wait for another.
    async fn call_undecided(
        &self,
        tasks: &[Task<'_, '_, '_>],
        whens: &mut [When],
        out: &mut [Option<Result<Decisions, StoreError>>],
        sent: &mut [bool],
    ) {
        let undecided = tasks.iter().zip(whens).zip(out).zip(sent);
        let undecided: Vec<_> = undecided.filter(|((_, out), _)| out.is_none()).collect();
        let in_order: Vec<_> = undecided.iter().map(|(((task, _), _), _)| *task).collect();
        let ready = undecided.into_iter().zip(ready(&in_order)).filter(|(_, ready)| *ready);
        let (asked, calls): (Vec<_>, Vec<Call>) = ready
            .map(|((((task, when), out), sent), _)| {
                *sent = true;
                let call = task.call(when, &self.prefix, &self.scripts);
                ((task, when, out), call)
            })
            .unzip();
        let replies = self.connection.send(&calls).await;
        for (((task, when, out), call), reply) in asked.into_iter().zip(&calls).zip(replies) {
            *out = interpret(reply.and_then(|bytes| task.parse(bytes, &call.terms)), when);
        }
    }
}

fn is_damaged_reset(op: &Op<'_>, out: &Result<Decision, StoreError>) -> bool {
    op.act == Act::Reset && out.as_ref().is_err_and(StoreError::is_damaged)
}

/// Returns what a reply means, or `None` if the call must be repeated with other calendar windows.
fn interpret<D>(
    reply: Result<Reply<D>, StoreError>,
    when: &mut When,
) -> Option<Result<D, StoreError>> {
    match reply {
        Ok(Reply::Decision(decision)) => Some(Ok(decision)),
        Ok(Reply::Overdrawn) => Some(Err(StoreError::overdrawn())),
        Ok(Reply::WindowsNeeded(around, position)) => {
            when.move_windows(position, around).err().map(Err)
        }
        Err(error) => Some(Err(error)),
    }
}

/// Decides an operation that needs no call: it is invalid, or no limit counts anything and no reply is kept
/// or forgotten.
fn decide_locally(op: &Op<'_>) -> Option<Result<Decision, StoreError>> {
    if let Err(invalid) = validate(op) {
        return Some(Err(invalid));
    }
    if op.touches_state() {
        return None;
    }
    let limits = op.items.iter().map(|item| RemoteLimit {
        capacity: item.limit.exact_capacity(),
        state: RemoteState::Nothing,
        now: Time::EPOCH,
        cost: item.cost,
    });
    op.report(limits.clone().map(|limit| limit.status()));
    Some(Ok(remote_decision(true, limits)))
}

/// The places of the answers to some tasks. If the caller gives up, those that were never sent are refused, so that it
/// knows that they were not done.
struct Asked<'o> {
    out: Vec<&'o mut Result<Decision, StoreError>>,
    /// Number of operations of each task.
    sizes: Vec<usize>,
    /// Whether each task was sent.
    sent: Vec<bool>,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        let mut out = self.out.iter_mut();
        for (size, sent) in self.sizes.iter().zip(&self.sent) {
            for out in out.by_ref().take(*size).filter(|out| !sent && has_no_answer(out)) {
                **out = Err(StoreError::refused("not sent in time"));
            }
        }
    }
}

fn has_no_answer(out: &Result<Decision, StoreError>) -> bool {
    out.as_ref().is_err_and(StoreError::is_unanswered)
}

/// An operation whose limits live in several slots.
struct CrossSlotOp<'a, 'o> {
    op: &'a Op<'a>,
    slots: Vec<Vec<usize>>,
    out: &'o mut Result<Decision, StoreError>,
}

impl CrossSlotOp<'_, '_> {
    /// Returns whether another operation counts one of its subjects, so that it must wait for this one.
    fn shares_subject(&self, op: &Op<'_>) -> bool {
        let counts = |item: &Item<'_>| op.items.iter().any(|other| other.subject == item.subject);
        self.op.policy == op.policy && self.op.items.iter().any(counts)
    }
}

impl Store for RedisStore {
    fn apply<'a>(
        &'a self,
        ops: &'a [Op<'a>],
        at: Option<Time>,
        out: &'a mut [Result<Decision, StoreError>],
    ) -> Apply<'a> {
        match (ops, out, &self.connection) {
            ([op], [out], Connection::Single(node)) => Apply::Pending(Box::pin(async move {
                *out = self.apply_single(node, op, at).await;
                if is_damaged_reset(op, out) {
                    *out = Box::pin(self.reset_damaged(op, at)).await;
                }
            })),
            (ops, out, _) => Apply::Pending(Box::pin(async move {
                self.apply_all(ops, at, out).await;
                for (op, out) in ops.iter().zip(out).filter(|(op, out)| is_damaged_reset(op, out)) {
                    *out = self.reset_damaged(op, at).await;
                }
            })),
        }
    }

    /// Not in several slots of a cluster.
    fn joins(&self, op: &Op<'_>) -> bool {
        let is_single = matches!(self.connection, Connection::Single(_)) || op.items.len() < 2;
        is_single || self.connection.positions_by_slot(op, &self.prefix).len() < 2
    }
}
