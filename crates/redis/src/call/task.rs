//! What is done in one call, and which calls can be sent together.

use smallvec::{SmallVec, smallvec};
use tollgate_core::remote::LimitParams as _;
use tollgate_core::{Item, Op, StoreError};

use crate::call::checks::{Checks, can_share_call};
use crate::call::keys::Prefix;
use crate::call::reply::{CallTerms, Reply, ScriptDecision};
use crate::call::{Call, SlotOp, When};
use crate::script::Scripts;
use crate::shape::RuleKind;

/// What one call does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Task<'t, 'a, 'p> {
    /// One part of an operation.
    Part(&'t SlotOp<'a, 'p>),
    /// Several checks of one key.
    Checks(Checks<'t, 'a, 'p>),
}

/// The decisions of a task, one for each of its operations. Most tasks have one.
pub(crate) type Decisions = SmallVec<[ScriptDecision; 1]>;

impl<'t, 'a, 'p> Task<'t, 'a, 'p> {
    /// Divides operations, each of which lives in one slot, into calls.
    pub(crate) fn of_all(parts: &'t [SlotOp<'a, 'p>]) -> Vec<Task<'t, 'a, 'p>> {
        let mut tasks = Vec::with_capacity(parts.len());
        for group in parts.chunk_by(|one, next| can_share_call(&one.op, &next.op)) {
            match group {
                [part] => tasks.push(Task::Part(part)),
                // What is left of a long group uses the same script, even if it is one check.
                group => tasks.extend(Checks::of_all(group).map(Task::Checks)),
            }
        }
        tasks
    }

    /// Returns how many operations it decides.
    pub(crate) fn len(&self) -> usize {
        match self {
            Task::Part(_) => 1,
            Task::Checks(checks) => checks.len(),
        }
    }

    /// Returns the call that does it.
    pub(crate) fn call(&self, when: &When, prefix: &Prefix, scripts: &Scripts) -> Call {
        match self {
            Task::Part(part) => Call::new(part, when, prefix, scripts),
            Task::Checks(checks) => checks.call(when, prefix, scripts),
        }
    }

    /// Parses the reply to its call.
    ///
    /// # Errors
    /// Fails if it is not the reply of one of our scripts.
    pub(crate) fn parse(
        &self,
        bytes: Vec<u8>,
        terms: &CallTerms,
    ) -> Result<Reply<Decisions>, StoreError> {
        match self {
            Task::Part(_) => Ok(Reply::parse(bytes, terms)?.map(|one| smallvec![one])),
            Task::Checks(checks) => checks.parse(&bytes, terms),
        }
    }

    /// Returns the operation, or the first of several checks, which count the same subjects.
    fn op(&self) -> &Op<'a> {
        match self {
            Task::Part(part) => &part.op,
            Task::Checks(checks) => checks.first(),
        }
    }

    /// Whether the script may ask for other calendar windows, and do nothing before it has them.
    fn may_ask(&self) -> bool {
        let calendar = |item: &Item<'_>| RuleKind::of(&item.limit.params()) == RuleKind::Calendar;
        self.op().items.iter().any(calendar)
    }

    /// Whether both count the same subject under the same policy.
    fn shares_key(&self, other: &Task<'_, '_, '_>) -> bool {
        let (one, other) = (self.op(), other.op());
        let subjects = || one.items.iter().map(|item| item.subject);
        one.policy == other.policy
            && other.items.iter().any(|item| subjects().any(|subject| subject == item.subject))
    }
}

/// Returns for each task whether it can be sent now, with those before it. A task that may ask for other
/// calendar windows must have its decision before another one on the same key is done.
pub(crate) fn ready(tasks: &[&Task<'_, '_, '_>]) -> Vec<bool> {
    let mut ready = vec![true; tasks.len()];
    if !tasks.iter().any(|task| task.may_ask()) {
        return ready;
    }
    for (index, task) in tasks.iter().enumerate() {
        let earlier = tasks.iter().zip(&ready).take(index);
        // A task behind one that waits must wait as well.
        let waits_for = |(earlier, ready): (&&Task<'_, '_, '_>, &bool)| {
            (earlier.may_ask() || !ready) && earlier.shares_key(task)
        };
        let waits = earlier.into_iter().any(waits_for);
        if let Some(ready) = ready.get_mut(index) {
            *ready = !waits;
        }
    }
    ready
}
