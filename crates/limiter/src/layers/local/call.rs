//! One call of the store about some keys: for each, what the node writes, and the operations that are decided.

use std::sync::Arc;

use smallvec::SmallVec;
use tollgate_core::{Apply, Decision, Item, LimitStatuses, Op, Source, StoreError};

use super::Shared;
use super::key::{Answer, Answers, Call, LocalKey, Write, is_plain};
use crate::layers::deny_cache::RepeatsDenials;
use crate::layers::hash::Hash;
use crate::layers::known::{Known, needs_statuses};
use crate::layers::write_ids::WriteId;

/// One key in a call.
pub(super) struct Part<'a, K: LocalKey> {
    pub(super) hash: Hash,
    /// What is written; `None` if nothing is kept of the key.
    pub(super) call: Option<Call<K::Note>>,
    /// The operations that the store decides, in order, and the places of their answers.
    pub(super) ops: Vec<(usize, &'a Op<'a>)>,
}

impl<'a, K: LocalKey> Part<'a, K> {
    /// Creates a part in which the store is only told something.
    pub(super) fn told(hash: Hash, call: Call<K::Note>) -> Part<'a, K> {
        Part { hash, call: Some(call), ops: Vec::new() }
    }

    /// Returns whether another check may be decided in it, after the others.
    pub(super) fn can_join(&self, op: &Op<'_>) -> bool {
        let has_limits = self.call.as_ref().is_some_and(|call| call.op.has_limits_of(op));
        has_limits && is_plain(op) && self.is_plain()
    }

    /// Returns whether its operations do nothing but what their answers say. All that has joined the first is plain.
    pub(super) fn is_plain(&self) -> bool {
        self.ops.first().is_none_or(|(_, op)| is_plain(op))
    }

    /// Returns the writes before the operations, and the one after them.
    fn writes(&self) -> (&[Write], Option<&Write>) {
        let writes = self.call.as_ref().map(|call| &call.writes);
        writes.map_or((&[], None), |writes| (&writes.before, writes.after.as_ref()))
    }
}

/// A call that was begun. Parts that it leaves unfinished are given up, as when the caller is gone.
pub(super) struct UnfinishedCall<'a, S: RepeatsDenials + 'static, K: LocalKey> {
    shared: Arc<Shared<S, K>>,
    parts: Vec<Part<'a, K>>,
    finished: usize,
}

impl<S: RepeatsDenials + 'static, K: LocalKey> Drop for UnfinishedCall<'_, S, K> {
    fn drop(&mut self) {
        for part in self.parts.iter().skip(self.finished) {
            self.shared.finish(part.hash, part.call.as_ref(), None);
        }
    }
}

/// The items of one write, and the numbers of its limits afterwards.
struct Prepared<'a> {
    items: Vec<Item<'a>>,
    statuses: LimitStatuses,
}

/// Returns the items of each write of a part, and a place for the numbers of each limit after it.
fn prepare<'p, K: LocalKey>(part: &'p Part<'_, K>) -> Vec<Prepared<'p>> {
    let Some(call) = &part.call else { return Vec::new() };
    let (items, (before, after)) = (call.op.items(), part.writes());
    let prepared = |write: &Write| Prepared {
        items: write.costs.items(&items),
        statuses: LimitStatuses::default(),
    };
    before.iter().chain(after).map(prepared).collect()
}

/// Returns the operations of a part, in order.
fn ops_of<'o, K: LocalKey>(
    part: &'o Part<'o, K>,
    prepared: &'o [Prepared<'o>],
    statuses: &'o LimitStatuses,
) -> impl Iterator<Item = Op<'o>> {
    let (before, after) = part.writes();
    let call = part.call.as_ref();
    let write = move |(write, prepared): (&'o Write, &'o Prepared<'o>)| {
        let mut op = call?.op.op(&prepared.items).with_act(write.act);
        op.statuses = needs_statuses(&op).then_some(&prepared.statuses);
        Some(write.id.as_ref().and_then(WriteId::as_id).map_or(op, |id| op.with_id(id)))
    };
    // What counts is what the last of them says.
    let last = part.ops.len().saturating_sub(1);
    let decided = part.ops.iter().enumerate().map(move |(number, (_, op))| {
        let mut op = **op;
        if number == last && op.statuses.is_none() && call.is_some() && needs_statuses(&op) {
            op.statuses = Some(statuses);
        }
        op
    });
    let mut prepared = prepared.iter();
    let before: SmallVec<[Op<'o>; 2]> =
        before.iter().zip(&mut prepared).filter_map(write).collect();
    let after = after.zip(prepared.next()).and_then(write);
    before.into_iter().chain(decided).chain(after)
}

impl<'a, S: RepeatsDenials + 'static, K: LocalKey> UnfinishedCall<'a, S, K> {
    pub(super) fn new(shared: &Arc<Shared<S, K>>, parts: Vec<Part<'a, K>>) -> Self {
        UnfinishedCall { shared: Arc::clone(shared), parts, finished: 0 }
    }

    /// Sends everything in one call, and learns from the answers.
    pub(super) async fn send(mut self, out: &mut [Result<Decision, StoreError>]) {
        let all = self.shared.send(&self.parts, out).await;
        for answers in all {
            if let Some(part) = self.parts.get(self.finished) {
                self.shared.finish(part.hash, part.call.as_ref(), Some(answers));
            }
            self.finished = self.finished.saturating_add(1);
        }
    }
}

impl<S: RepeatsDenials + 'static, K: LocalKey> Shared<S, K> {
    async fn send(
        &self,
        parts: &[Part<'_, K>],
        out: &mut [Result<Decision, StoreError>],
    ) -> Vec<Answers> {
        let prepared: Vec<Vec<Prepared<'_>>> = parts.iter().map(prepare).collect();
        let statuses: Vec<LimitStatuses> = parts.iter().map(|_| LimitStatuses::default()).collect();
        let each = parts.iter().zip(&prepared).zip(&statuses);
        let ops = each.flat_map(|((part, prepared), statuses)| ops_of(part, prepared, statuses));
        let ops: Vec<Op<'_>> = ops.collect();
        let mut results = vec![Err(StoreError::unanswered()); ops.len()];
        // Checks of a key wait for each other here, so that they need not wait again.
        if let Apply::Pending(pending) = self.store.apply_at_once(&ops, &mut results) {
            pending.await;
        }
        let mut results = ops.iter().zip(results);
        let now = self.node.now();
        parts.iter().map(|part| answers_of(part, &mut results, out, now)).collect()
    }
}

/// Takes the results of one part.
fn answers_of<'o, K: LocalKey>(
    part: &Part<'_, K>,
    results: &mut impl Iterator<Item = (&'o Op<'o>, Result<Decision, StoreError>)>,
    out: &mut [Result<Decision, StoreError>],
    now: u64,
) -> Answers {
    let (before, after) = part.writes();
    let before = results.take(before.len()).map(|(op, result)| answer(op, &result, now)).collect();
    let mut ops = SmallVec::new();
    for ((index, _), (op, result)) in part.ops.iter().zip(&mut *results) {
        let mut answer = answer(op, &result, now);
        // Under an id the answer may be a remembered one, and other operations may do more than they say.
        answer.known = answer.known.filter(|_| is_plain(op));
        if let Some(out) = out.get_mut(*index) {
            *out = result;
        }
        ops.push(answer);
    }
    let after = after.and_then(|_| results.next()).map(|(op, result)| answer(op, &result, now));
    Answers { before, ops, after }
}

fn answer(op: &Op<'_>, result: &Result<Decision, StoreError>, now: u64) -> Answer {
    let decision = result.as_ref().ok().filter(|decision| !decision.degraded);
    let has_failed = |error: &StoreError| error.is_unavailable() || error.is_unanswered();
    // A denial that a layer repeats is older than it looks.
    let is_new = |decision: &&Decision| decision.source == Source::Store;
    let known = |decision| Known::from_answer(op, decision, op.statuses, now);
    Answer {
        is_answered: decision.is_some() || result.as_ref().is_err_and(|error| !has_failed(error)),
        is_allowed: decision.is_some_and(|decision| decision.allowed),
        known: decision.filter(is_new).map(known),
    }
}
