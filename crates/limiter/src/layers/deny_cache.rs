//! `deny_cache`: a denied key is answered here until it may pass again.
//!
//! A client that hammers on an exhausted limit would cost a round trip for each denial. But the answer is
//! known: until `retry_after` has passed nothing changes in it except the waits, which shrink with the
//! time. So this layer repeats it, with exact numbers, and asks the store again
//!
//! * when the key may pass again,
//! * after a second at most, so that a refund, a reset or a raised limit elsewhere shows,
//! * after any operation on the same subject through this process that may have changed its state.
//!
//! It never allows anything.

mod batch;
mod filter;
mod repeat;

use std::sync::Arc;

use tokio::sync::Notify;
use tollgate_core::{Apply, Decision, Op, Span, Store, StoreError, Time, apply_one};

use super::budget::Part;
use super::hash::{Hash, OpKey};
use super::node::Node;
use super::table::{Entry, Table};
use super::versions::Versions;
use repeat::{denial_from, is_repeatable, may_have_changed, wait};

/// How long a denial is repeated without asking the store, in microseconds.
const MAX_AGE: u64 = 1_000_000;
/// A denial that ends so far away is by the other kind of time, in microseconds: by the caller's, or by the
/// clock.
const OTHER_TIME: u64 = 3_600_000_000;

/// A store that repeats denials of another store.
pub(crate) struct DenyCache<S> {
    store: S,
    known: Known,
}

/// A store that can tell at once that a check is denied.
pub(super) trait RepeatsDenials: Store {
    /// Returns the denial of a check, if it is known.
    fn known_denial(&self, op: &Op<'_>) -> Option<Decision>;

    /// Applies operations as [`Store::apply`] does, without waiting for other callers that ask the same.
    fn apply_at_once<'a>(
        &'a self,
        ops: &'a [Op<'a>],
        out: &'a mut [Result<Decision, StoreError>],
    ) -> Apply<'a>;
}

impl<S: Store> RepeatsDenials for DenyCache<S> {
    fn known_denial(&self, op: &Op<'_>) -> Option<Decision> {
        self.known.denied(&self.known.question(op, None))
    }

    fn apply_at_once<'a>(
        &'a self,
        ops: &'a [Op<'a>],
        out: &'a mut [Result<Decision, StoreError>],
    ) -> Apply<'a> {
        self.apply_several(ops, None, out, false)
    }
}

/// What is known of denied keys.
struct Known {
    denials: Table<Denial>,
    versions: Versions,
    node: Node,
}

/// A denial, and for how long it holds.
struct Denial {
    decision: Decision,
    /// The versions of its subjects when the store was asked.
    version: u32,
    /// Whether its instants are by the caller's time, or else by the clock.
    explicit: bool,
    /// From when its waits count, in microseconds.
    since: u64,
    /// Until when it holds, in microseconds.
    until: u64,
    /// Set while one caller asks the store again; the others wait for its answer.
    asking: Option<Arc<Notify>>,
}

impl Entry for Denial {
    fn is_idle(&self, now: u64) -> bool {
        let is_over = self.until <= now || self.until.abs_diff(now) > OTHER_TIME;
        self.asking.is_none() && is_over
    }
}

/// An operation, and what it would find or change here.
struct Question {
    key: OpKey,
    /// The hash of the check, if its denial can be repeated.
    hash: Option<Hash>,
    /// The versions of its subjects before the store is asked.
    version: u32,
    explicit: bool,
    now: u64,
}

/// What is known about a question.
enum Lookup<'k> {
    /// It is denied.
    Denied(Decision),
    /// Nothing is known.
    Unknown,
    /// It was denied until now; this caller asks the store again.
    Ask(Asking<'k>),
    /// It was denied until now, and another caller is asking.
    Wait(Hash, Arc<Notify>),
}

/// While it exists, other callers with the same question wait.
struct Asking<'k> {
    known: &'k Known,
    hash: Hash,
    notify: Arc<Notify>,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        if let Some(mut denials) = self.known.denials.lock(self.hash)
            && let Some(denial) = denials.get_mut(self.hash)
            // Another caller may be asking by now.
            && denial.asking.as_ref().is_some_and(|asking| Arc::ptr_eq(asking, &self.notify))
        {
            denial.asking = None;
        }
        self.notify.notify_waiters();
    }
}

impl<S: Store> DenyCache<S> {
    pub(crate) fn new(store: S, node: &Node) -> DenyCache<S> {
        let (denials, versions) = (Table::new(Part::of(&node.budget)), Versions::default());
        let known = Known { denials, versions, node: node.clone() };
        DenyCache { store, known }
    }

    /// Returns the store behind it.
    pub(crate) fn store(&self) -> &S {
        &self.store
    }

    /// Returns the number of denials that were answered here.
    pub(crate) fn answered(&self) -> u64 {
        self.known.denials.answered()
    }

    /// Asks the store, and learns from the answer.
    async fn ask(
        &self,
        question: &Question,
        op: &Op<'_>,
        at: Option<Time>,
        out: &mut Result<Decision, StoreError>,
    ) {
        *out = apply_one(&self.store, op, at).await;
        self.known.learn(question, op, out);
    }

    /// Answers a check that was denied until now, one caller at a time.
    async fn ask_again(
        &self,
        mut question: Question,
        mut lookup: Lookup<'_>,
        op: &Op<'_>,
        at: Option<Time>,
        out: &mut Result<Decision, StoreError>,
    ) {
        if let Lookup::Wait(hash, notify) = lookup {
            self.known.wait(hash, &notify).await;
            question = self.known.question(op, at);
            lookup = self.known.look_up(&question);
        }
        match lookup {
            Lookup::Denied(decision) => *out = Ok(decision),
            Lookup::Ask(asking) => {
                self.ask(&question, op, at, out).await;
                drop(asking);
            }
            // A caller waits for one call of another at most: on a key that changes with every call it
            // might wait for ever.
            Lookup::Unknown | Lookup::Wait(..) => self.ask(&question, op, at, out).await,
        }
    }
}

impl<S: Store> Store for DenyCache<S> {
    fn apply<'a>(
        &'a self,
        ops: &'a [Op<'a>],
        at: Option<Time>,
        out: &'a mut [Result<Decision, StoreError>],
    ) -> Apply<'a> {
        let ([op], 1) = (ops, out.len()) else {
            return self.apply_several(ops, at, out, ops.iter().all(is_repeatable));
        };
        if !is_repeatable(op) {
            return self.apply_several(ops, at, out, false);
        }
        let [out] = out else { return Apply::Ready };
        let question = self.known.question(op, at);
        match self.known.look_up(&question) {
            Lookup::Denied(decision) => {
                *out = Ok(decision);
                Apply::Ready
            }
            Lookup::Unknown => Apply::Pending(Box::pin(async move {
                self.ask(&question, op, at, out).await;
            })),
            lookup => Apply::Pending(Box::pin(self.ask_again(question, lookup, op, at, out))),
        }
    }
}

impl Known {
    fn question(&self, op: &Op<'_>, at: Option<Time>) -> Question {
        let key = self.node.secret.key(op);
        let hash = is_repeatable(op).then(|| self.node.secret.question(&key, op));
        let version = self.versions.of(&key);
        let now = at.map_or_else(|| self.node.now(), Time::as_micros);
        Question { key, hash, version, explicit: at.is_some(), now }
    }

    /// Returns the denial of a check, if it is known.
    fn denied(&self, question: &Question) -> Option<Decision> {
        let hash = question.hash?;
        let mut denials = self.denials.lock(hash)?;
        let decision = denials.get_mut(hash)?.at(question)?;
        denials.count_answered();
        Some(decision)
    }

    fn look_up(&self, question: &Question) -> Lookup<'_> {
        let Some(hash) = question.hash else { return Lookup::Unknown };
        let Some(mut denials) = self.denials.lock(hash) else { return Lookup::Unknown };
        let Some(denial) = denials.get_mut(hash) else { return Lookup::Unknown };
        if let Some(decision) = denial.at(question) {
            denials.count_answered();
            return Lookup::Denied(decision);
        }
        // Callers that pass the time are not kept waiting: their instants may differ.
        if question.explicit {
            return Lookup::Unknown;
        }
        if let Some(notify) = &denial.asking {
            return Lookup::Wait(hash, Arc::clone(notify));
        }
        let notify = Arc::<Notify>::default();
        denial.asking = Some(Arc::clone(&notify));
        Lookup::Ask(Asking { known: self, hash, notify })
    }

    /// Waits until another caller has its answer, or has had time for it.
    async fn wait(&self, hash: Hash, notify: &Arc<Notify>) {
        let notified = notify.notified();
        // Not if the answer has arrived meanwhile.
        if self.is_asking(hash, notify) {
            self.node.wait(notified).await;
        }
    }

    fn is_asking(&self, hash: Hash, notify: &Arc<Notify>) -> bool {
        let Some(mut denials) = self.denials.lock(hash) else { return false };
        let asking = denials.get_mut(hash).and_then(|denial| denial.asking.as_ref());
        asking.is_some_and(|asking| Arc::ptr_eq(asking, notify))
    }

    /// Learns from the store's answer to an operation.
    fn learn(&self, question: &Question, op: &Op<'_>, answer: &Result<Decision, StoreError>) {
        let changed = may_have_changed(op, answer);
        if changed {
            self.versions.bump(&question.key);
        }
        let Some(hash) = question.hash else { return };
        let Some(mut denials) = self.denials.lock(hash) else { return };
        let denial = answer.as_ref().ok().and_then(|decision| denial_from(op, decision));
        let Some(decision) = denial else {
            denials.remove(hash);
            return;
        };
        let received = if question.explicit { question.now } else { self.node.now() };
        let denial = Denial {
            decision,
            // What this check took itself is in the answer. After any other change it is useless.
            version: question.version.wrapping_add(u32::from(changed)),
            explicit: question.explicit,
            since: received,
            // The store decided after it was asked, so that the key passes no earlier than this.
            until: question.now.saturating_add(wait(&decision).min(MAX_AGE)),
            asking: None,
        };
        denials.insert(hash, denial, received);
    }
}

impl Denial {
    /// Returns the denial at the instant of a question, if it holds then.
    fn at(&self, question: &Question) -> Option<Decision> {
        let is_current = self.version == question.version && self.explicit == question.explicit;
        if !is_current || question.now < self.since || question.now >= self.until {
            return None;
        }
        let elapsed = question.now.saturating_sub(self.since);
        let less = |wait: Span| Span::from_micros(wait.as_micros().saturating_sub(elapsed));
        let mut decision = self.decision;
        decision.retry_after = decision.retry_after.map(less);
        decision.reset_after = less(decision.reset_after);
        decision.bound_reset_after = less(decision.bound_reset_after);
        Some(decision)
    }
}
