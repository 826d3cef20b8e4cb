//! What a node keeps of one key, so that it can answer checks itself.

use std::sync::Arc;
use std::time::Duration;

use smallvec::SmallVec;
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;
use tollgate_core::{Act, Decision, Item, Limit, Op};

use crate::layers::costs::Costs;
use crate::layers::known::Known;
use crate::layers::node::Node;
use crate::layers::owned_op::OwnedOp;
use crate::layers::table::Entry;
use crate::layers::write_ids::WriteId;

/// The rules by which a layer answers checks of one key itself, and what it tells the store.
pub(crate) trait LocalKey: Send + Sized + 'static {
    /// What a policy chooses.
    type Settings: Copy + PartialEq + Send;
    /// What is needed to make sense of the answers to a call.
    type Note: Send + Sync;

    /// Returns whether a limit can be decided so.
    fn is_possible_for(limit: &Limit) -> bool;

    fn new(op: &Op<'_>, settings: Self::Settings) -> Self;

    /// Returns whether a new key is answered without asking the store first.
    fn assumes(_: &Self::Settings) -> bool {
        false
    }

    /// Creates a key that is answered without asking the store first.
    fn assumed(_: &Op<'_>, _: Self::Settings, _: u64) -> Option<Self> {
        None
    }

    /// Uses the limits and settings of an operation from now on.
    fn update(&mut self, op: &Op<'_>, settings: Self::Settings, has_other_limits: bool);

    /// Answers a check or a peek, if that is possible.
    fn answer(&mut self, op: &Op<'_>, context: &Context<'_>) -> Option<LocalAnswer>;

    /// Returns whether a check that cannot be answered now should await the answer to the calls under way.
    fn awaits(&self, op: &Op<'_>) -> bool;

    /// Returns whether checks that await an answer should go on after this one.
    fn is_worth_waking(&self) -> bool {
        true
    }

    /// Begins a call of the store.
    fn begin(&mut self, reason: Reason<'_>, context: &Context<'_>) -> Writes<Self::Note>;

    /// Lets a call that was begun for a check, and is not sent yet, decide another one after it.
    fn join(&mut self, _: &mut Writes<Self::Note>, _: &Op<'_>) {}

    /// Ends a call of the store; without answers it was given up. Returns what turned out to be admitted
    /// beyond the limit.
    fn finish(
        &mut self,
        writes: &Writes<Self::Note>,
        answers: Option<Answers>,
        context: &Context<'_>,
    ) -> u64;

    /// Returns when the background should look at the key again; `None` if there is nothing to do.
    fn due_in(&self) -> Option<Duration>;

    /// Looks at the key in the background. Returns whether the store must be called.
    fn look(&mut self) -> bool;

    /// Returns whether the store has been told everything that may change what it decides.
    fn is_told(&self) -> bool;

    /// Returns what the store and this node see differently, for the metric.
    fn gauge(&self) -> u64;

    /// Returns whether the key can be forgotten, if nothing about it is under way.
    fn is_idle(&self, now: u64) -> bool;
}

/// Returns whether an operation on these can be decided by a key.
pub(super) fn is_possible<K: LocalKey>(items: &[Item<'_>]) -> bool {
    has_one_subject(items) && items.iter().all(|item| K::is_possible_for(item.limit))
}

/// Returns whether an operation does nothing but what its answer says. Under an id the answer may be a remembered one.
#[inline]
pub(super) fn is_plain(op: &Op<'_>) -> bool {
    matches!(op.act, Act::Check | Act::Peek) && op.id.is_none()
}

/// Returns whether all of these count the same subject. Otherwise what is known of one subject would have to be kept
/// with every other.
#[inline]
pub(super) fn has_one_subject(items: &[Item<'_>]) -> bool {
    let Some((first, others)) = items.split_first() else { return false };
    others.iter().all(|item| item.subject == first.subject)
}

/// A check that was answered here.
pub(crate) struct LocalAnswer {
    pub(crate) decision: Decision,
    /// What it took beyond the limit.
    pub(crate) over_admitted: u64,
    /// Whether the store should be called in the background now.
    pub(crate) calls_ahead: bool,
}

/// Why the store is called.
#[derive(Clone, Copy)]
pub(crate) enum Reason<'a> {
    /// It has to decide an operation.
    Decide(&'a Op<'a>),
    /// More checks like this one are expected.
    Ahead(&'a Op<'a>),
    /// Something is due.
    Due,
}

/// Where and when a key is used.
pub(crate) struct Context<'a> {
    pub(crate) node: &'a Node,
    pub(crate) op: &'a OwnedOp,
    /// The time of this node, in microseconds.
    pub(crate) now: u64,
}

/// What a call of the store carries besides the operations that it decides.
pub(crate) struct Writes<N> {
    /// Goes before the operations.
    pub(crate) before: SmallVec<[Write; 1]>,
    /// Goes after the operations.
    pub(crate) after: Option<Write>,
    pub(crate) note: N,
}

/// An operation that this node makes of its own accord.
#[derive(Debug, Clone)]
pub(crate) struct Write {
    pub(crate) act: Act,
    pub(crate) id: Option<WriteId>,
    pub(crate) costs: Costs,
}

/// What the store has answered to a call.
#[derive(Default)]
pub(crate) struct Answers {
    pub(crate) before: SmallVec<[Answer; 1]>,
    pub(crate) ops: SmallVec<[Answer; 1]>,
    pub(crate) after: Option<Answer>,
}

impl Answers {
    fn forget_known(&mut self) {
        let all = self.before.iter_mut().chain(&mut self.ops).chain(&mut self.after);
        all.for_each(|answer| answer.known = None);
    }
}

/// What the store has answered to an operation.
pub(crate) struct Answer {
    /// Whether it answered at all, be it with an error.
    pub(crate) is_answered: bool,
    pub(crate) is_allowed: bool,
    /// What the answer says about the key; `None` if it does not say it reliably.
    pub(crate) known: Option<Known>,
}

/// A key in the table.
pub(super) struct Tracked<K: LocalKey> {
    key: K,
    settings: K::Settings,
    pub(super) op: Arc<OwnedOp>,
    /// Number of calls of the store under way.
    calls: u32,
    answered: Option<Arc<Notify>>,
    /// Whether the background will look at it.
    pub(super) is_scheduled: bool,
}

/// A call of the store about one key.
pub(super) struct Call<N> {
    pub(super) op: Arc<OwnedOp>,
    pub(super) writes: Writes<N>,
}

impl<K: LocalKey> Entry for Tracked<K> {
    fn is_idle(&self, now: u64) -> bool {
        self.calls == 0 && !self.is_scheduled && self.key.is_idle(now)
    }

    fn heap_bytes(&self) -> usize {
        self.op.bytes()
    }
}

impl<K: LocalKey> Tracked<K> {
    pub(super) fn new(key: K, op: &Op<'_>, settings: K::Settings) -> Tracked<K> {
        let op = limits_of(op);
        Tracked { key, settings, op, calls: 0, answered: None, is_scheduled: false }
    }

    /// Uses the limits and settings of an operation from now on. Returns whether that is possible: a key
    /// cannot have another number of limits, or limits that are not decided so.
    #[inline]
    pub(super) fn update(&mut self, op: &Op<'_>, settings: &K::Settings) -> bool {
        let is_same = self.op.has_limits_of(op) && self.settings == *settings;
        is_same || self.change(op, settings)
    }

    #[cold]
    fn change(&mut self, op: &Op<'_>, settings: &K::Settings) -> bool {
        let has_other_limits = !self.op.has_limits_of(op);
        if self.op.len() != op.items.len() || !is_possible::<K>(op.items) {
            return false;
        }
        if has_other_limits {
            self.op = limits_of(op);
        }
        self.settings = *settings;
        self.key.update(op, *settings, has_other_limits);
        true
    }

    /// Returns whether the store knows everything, and no call about it is under way.
    pub(super) fn has_nothing_open(&self) -> bool {
        self.calls == 0 && self.key.due_in().is_none()
    }

    /// Returns whether it is about the limits of an operation.
    pub(super) fn has_limits_of(&self, op: &Op<'_>) -> bool {
        self.op.has_limits_of(op)
    }

    #[inline]
    pub(super) fn answer(&mut self, op: &Op<'_>, node: &Node, now: u64) -> Option<LocalAnswer> {
        self.key.answer(op, &Context { node, op: &self.op, now })
    }

    /// Returns a future of the next answer of the store, if the check should await it.
    pub(super) fn wait(&mut self, op: &Op<'_>) -> Option<OwnedNotified> {
        let awaits = self.calls > 0 && self.key.awaits(op);
        awaits.then(|| Arc::clone(self.answered.get_or_insert_default()).notified_owned())
    }

    pub(super) fn begin(&mut self, reason: Reason<'_>, node: &Node, now: u64) -> Call<K::Note> {
        let op = Arc::clone(&self.op);
        let writes = self.key.begin(reason, &Context { node, op: &op, now });
        self.calls = self.calls.saturating_add(1);
        Call { op, writes }
    }

    pub(super) fn join(&mut self, call: &mut Call<K::Note>, op: &Op<'_>) {
        self.key.join(&mut call.writes, op);
    }

    pub(super) fn finish(
        &mut self,
        call: &Call<K::Note>,
        mut answers: Option<Answers>,
        node: &Node,
        now: u64,
    ) -> u64 {
        self.calls = self.calls.saturating_sub(1);
        if !Arc::ptr_eq(&call.op, &self.op) {
            // What is said of other limits says nothing of these.
            answers.iter_mut().for_each(Answers::forget_known);
        }
        let context = Context { node, op: &self.op, now };
        let over_admitted = self.key.finish(&call.writes, answers, &context);
        if self.calls == 0 || self.key.is_worth_waking() {
            self.answered.take().inspect(|answered| answered.notify_waiters());
        }
        over_admitted
    }

    /// Looks at the key in the background, and begins a call of the store if one is needed.
    pub(super) fn look(&mut self, node: &Node, now: u64) -> Option<Call<K::Note>> {
        self.key.look().then(|| self.begin(Reason::Due, node, now))
    }

    pub(super) fn key(&self) -> &K {
        &self.key
    }
}

/// Returns the limits and subjects of an operation, without the id of its caller: writes have their own.
fn limits_of(op: &Op<'_>) -> Arc<OwnedOp> {
    Arc::new(OwnedOp::new(&op.without_id()))
}
