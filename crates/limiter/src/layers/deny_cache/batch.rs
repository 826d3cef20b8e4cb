//! Several operations in one call, or one whose denial cannot be repeated.
//!
//! A client may send a thousand checks of a denied key at once. When the denial has ended, the first of them goes to
//! the store, and the others wait for its answer: most often it is another denial, which answers them all. Only in
//! calls of such checks alone: anything else in a call does not wait for a second round trip.

use std::sync::Arc;

use smallvec::SmallVec;
use tokio::sync::Notify;
use tollgate_core::{Apply, Decision, Op, Store, StoreError, Time};

use super::filter::Filter;
use super::repeat::changes_for_sure;
use super::{Asking, DenyCache, Known, Lookup, Question};
use crate::layers::hash::Hash;
use crate::layers::subset;

/// An operation that the store has to answer.
struct Open {
    index: usize,
    question: Question,
}

/// What is left of a call.
#[derive(Default)]
struct Rest<'k> {
    /// What the store has to answer, in order.
    open: SmallVec<[Open; 1]>,
    /// What follows a check whose denial has ended, on the same subject, in order.
    later: Vec<usize>,
    /// The checks whose denials have ended, and that are asked again here or by others.
    asking: Vec<Asking<'k>>,
    awaited: Vec<(Hash, Arc<Notify>)>,
}

impl<S: Store> DenyCache<S> {
    /// `waits` is whether checks may wait for the answer to another.
    pub(super) fn apply_several<'a>(
        &'a self,
        ops: &'a [Op<'a>],
        at: Option<Time>,
        out: &'a mut [Result<Decision, StoreError>],
        waits: bool,
    ) -> Apply<'a> {
        let rest = if waits {
            self.known.answer_some(|question| self.known.look_up(question), ops, at, out)
        } else {
            self.known.answer_some(|question| self.known.look_up_denied(question), ops, at, out)
        };
        if rest.open.is_empty() && rest.later.is_empty() {
            return Apply::Ready;
        }
        Apply::Pending(Box::pin(self.apply_rest(rest, ops, at, out)))
    }

    async fn apply_rest(
        &self,
        rest: Rest<'_>,
        ops: &[Op<'_>],
        at: Option<Time>,
        out: &mut [Result<Decision, StoreError>],
    ) {
        self.apply_open(rest.open, ops, at, out).await;
        drop(rest.asking);
        for (hash, notify) in rest.awaited {
            self.known.wait(hash, &notify).await;
        }
        if rest.later.is_empty() {
            return;
        }
        let later = || rest.later.iter().copied();
        let some = subset::pick(ops, later());
        let mut results = subset::unanswered(&some);
        // Now the store answers whatever is not denied, so that no operation waits twice.
        let look_up = |question: &_| self.known.look_up_denied(question);
        let open = self.known.answer_some(look_up, &some, at, &mut results).open;
        self.apply_open(open, &some, at, &mut results).await;
        subset::put_back(later(), results, out);
    }

    /// Lets the store answer some of the operations, and learns from the answers.
    async fn apply_open(
        &self,
        open: SmallVec<[Open; 1]>,
        ops: &[Op<'_>],
        at: Option<Time>,
        out: &mut [Result<Decision, StoreError>],
    ) {
        if open.is_empty() {
            return;
        }
        if open.len() == ops.len() {
            if let Apply::Pending(pending) = self.store.apply(ops, at, out) {
                pending.await;
            }
        } else {
            let indexes = || open.iter().map(|open| open.index);
            let some = subset::pick(ops, indexes());
            let mut results = subset::unanswered(&some);
            if let Apply::Pending(pending) = self.store.apply(&some, at, &mut results) {
                pending.await;
            }
            subset::put_back(indexes(), results, out);
        }
        for open in open {
            if let (Some(op), Some(out)) = (ops.get(open.index), out.get(open.index)) {
                self.known.learn(&open.question, op, out);
            }
        }
    }
}

impl Known {
    /// Finds out whether a check is denied, without waiting for others that ask.
    fn look_up_denied(&self, question: &Question) -> Lookup<'_> {
        self.denied(question).map_or(Lookup::Unknown, Lookup::Denied)
    }

    /// Answers the denied checks among several operations, by what `look_up` returns. Returns all others.
    ///
    /// A check that follows another operation on the same subject in the call is not answered here: that
    /// operation may change the state first.
    fn answer_some<'k>(
        &'k self,
        look_up: impl Fn(&Question) -> Lookup<'k>,
        ops: &[Op<'_>],
        at: Option<Time>,
        out: &mut [Result<Decision, StoreError>],
    ) -> Rest<'k> {
        let mut rest = Rest::default();
        let (mut passed, mut waiting) = (Filter::default(), Filter::default());
        for (index, (op, out)) in ops.iter().zip(out).enumerate() {
            let question = self.question(op, at);
            if waiting.may_contain(&question.key) {
                waiting.add(&question.key);
                rest.later.push(index);
                continue;
            }
            let is_first = !passed.may_contain(&question.key);
            match if is_first { look_up(&question) } else { Lookup::Unknown } {
                Lookup::Denied(decision) => {
                    *out = Ok(decision);
                    continue;
                }
                Lookup::Wait(hash, notify) => {
                    waiting.add(&question.key);
                    rest.awaited.push((hash, notify));
                    rest.later.push(index);
                    continue;
                }
                Lookup::Ask(asking) => {
                    waiting.add(&question.key);
                    rest.asking.push(asking);
                }
                Lookup::Unknown => {}
            }
            passed.add(&question.key);
            if changes_for_sure(op) {
                self.versions.bump(&question.key);
            }
            rest.open.push(Open { index, question });
        }
        rest
    }
}
