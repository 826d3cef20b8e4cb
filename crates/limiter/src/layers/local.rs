//! A store that answers some checks by what this node keeps of their keys, and lets another store decide the
//! rest.
//!
//! Two layers are made of it, which differ in what they keep of a key ([`LocalKey`]): `write_behind` and
//! `prefetch`.

mod call;
mod key;

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::futures::OwnedNotified;
use tollgate_core::{Apply, Decision, Op, StoreError};

use super::budget::Part as MemoryPart;
use super::deny_cache::RepeatsDenials;
use super::hash::Hash;
use super::node::{Node, after};
use super::schedule::Schedule;
use super::stats::Counter;
use super::table::{Identity, Locked, Table};
use call::{Part, UnfinishedCall};
use key::{Call, Tracked, has_one_subject, is_plain, is_possible};

pub(super) use key::{Answers, Context, LocalAnswer, LocalKey, Reason, Write, Writes};

/// Maximum number of keys that the background looks at in one call of the store.
const MAX_KEYS: usize = 256;

/// A store that answers some checks itself.
pub(crate) struct Local<S, K: LocalKey>(Arc<Shared<S, K>>);

struct Shared<S, K: LocalKey> {
    store: Arc<S>,
    keys: Table<Tracked<K>>,
    schedule: Schedule,
    node: Node,
    over_admitted: Counter,
}

/// What becomes of an operation.
enum Lookup {
    /// The answer is in its place.
    Answered,
    /// The store is being called about the key, and its answer may suffice.
    Wait(OwnedNotified),
    /// The store decides.
    Forward,
}

impl<S: RepeatsDenials + 'static, K: LocalKey> Local<S, K> {
    pub(crate) fn new(store: Arc<S>, node: Node) -> Local<S, K> {
        Local(Arc::new(Shared {
            store,
            keys: Table::new(MemoryPart::of(&node.budget)),
            schedule: Schedule::default(),
            node,
            over_admitted: Counter::default(),
        }))
    }

    /// Returns the number of checks that were answered here.
    pub(crate) fn answered(&self) -> u64 {
        self.0.keys.answered()
    }

    /// Returns what the store and this node see differently.
    pub(crate) fn difference(&self) -> u64 {
        self.0.keys.sum(|key| key.key().gauge())
    }

    /// Returns the cost that was admitted here beyond a limit.
    pub(crate) fn over_admitted(&self) -> u64 {
        self.0.over_admitted.get()
    }

    /// Does at once what is due later, as far as the store answers.
    pub(crate) async fn flush(&self) {
        let mut left = self.0.schedule.len();
        while left > 0 {
            let keys = self.0.schedule.take(left.min(MAX_KEYS));
            left = left.saturating_sub(MAX_KEYS);
            // What was used since the last look is kept at the first one.
            self.0.look(&keys).await;
            self.0.look(&keys).await;
        }
    }

    /// Applies operations on policies with these settings.
    #[inline(always)]
    pub(crate) fn apply<'a>(
        &'a self,
        settings: &K::Settings,
        ops: &'a [Op<'a>],
        out: &'a mut [Result<Decision, StoreError>],
    ) -> Apply<'a> {
        let shared = &self.0;
        let ([op], [first]) = (ops, &mut *out) else {
            return Apply::Pending(Box::pin(shared.apply_all(*settings, ops, out)));
        };
        match shared.look_up(settings, op, first) {
            Lookup::Answered => Apply::Ready,
            Lookup::Forward => Apply::Pending(Box::pin(shared.forward(*settings, ops, out))),
            Lookup::Wait(answered) => {
                Apply::Pending(Box::pin(shared.wait(answered, *settings, ops, out)))
            }
        }
    }
}

impl<S: RepeatsDenials + 'static, K: LocalKey> Shared<S, K> {
    /// Lets the store decide one operation.
    async fn forward(
        self: &Arc<Self>,
        settings: K::Settings,
        ops: &[Op<'_>],
        out: &mut [Result<Decision, StoreError>],
    ) {
        let Some(op) = ops.first() else { return };
        let part = self.begin(settings, op, 0);
        UnfinishedCall::new(self, vec![part]).send(out).await;
        self.answer_denied(settings, ops, out);
    }

    /// Waits for a call under way, for as long as it may take. A check waits for one call of another at most: near the
    /// limit it might wait for ever.
    async fn wait(
        self: &Arc<Self>,
        answered: OwnedNotified,
        settings: K::Settings,
        ops: &[Op<'_>],
        out: &mut [Result<Decision, StoreError>],
    ) {
        self.node.wait(answered).await;
        self.apply_all(settings, ops, out).await;
    }

    /// Answers what can be answered here, and lets the store decide the rest in one call.
    async fn apply_all(
        self: &Arc<Self>,
        settings: K::Settings,
        ops: &[Op<'_>],
        out: &mut [Result<Decision, StoreError>],
    ) {
        let mut parts: Vec<Part<'_, K>> = Vec::new();
        // The last part of each key: what follows it may join it, and nothing earlier.
        let mut last: HashMap<Hash, usize, BuildHasherDefault<Identity>> = HashMap::default();
        for (index, (op, out)) in ops.iter().zip(&mut *out).enumerate() {
            let hash = self.node.secret.first_subject(op);
            let part = last.get(&hash).and_then(|last| parts.get_mut(*last));
            // What changes the key goes before what follows it.
            let may_answer = part.as_ref().is_none_or(|part| part.is_plain());
            if may_answer && matches!(self.look_up(&settings, op, out), Lookup::Answered) {
                continue;
            }
            match part.filter(|part| part.can_join(op)) {
                Some(part) => self.join(part, op, index),
                None => {
                    last.insert(hash, parts.len());
                    parts.push(self.begin(settings, op, index));
                }
            }
        }
        if !parts.is_empty() {
            UnfinishedCall::new(self, parts).send(out).await;
            self.answer_denied(settings, ops, out);
        }
    }

    /// Answers checks that the store has denied because this node holds the quota itself: it may have taken it
    /// in the same call.
    fn answer_denied(
        self: &Arc<Self>,
        settings: K::Settings,
        ops: &[Op<'_>],
        out: &mut [Result<Decision, StoreError>],
    ) {
        for (op, out) in ops.iter().zip(out) {
            if out.as_ref().is_ok_and(|decision| !decision.allowed) {
                self.look_up(&settings, op, out);
            }
        }
    }

    /// Answers an operation, if that is possible here.
    fn look_up(
        self: &Arc<Self>,
        settings: &K::Settings,
        op: &Op<'_>,
        out: &mut Result<Decision, StoreError>,
    ) -> Lookup {
        if !is_plain(op) || !has_one_subject(op.items) {
            return Lookup::Forward;
        }
        let (hash, now) = (self.node.secret.first_subject(op), self.node.now());
        let Some(mut keys) = self.keys.lock(hash) else { return Lookup::Forward };
        if K::assumes(settings)
            && is_possible::<K>(op.items)
            && keys.get_mut(hash).is_none()
            && let Some(key) = K::assumed(op, *settings, now)
        {
            keys.insert(hash, Tracked::new(key, op, *settings), now);
        }
        let Some(key) = keys.get_mut(hash) else { return self.repeat_denial(op, out) };
        // A task writes to the store what is admitted here, and it needs a runtime.
        if !key.update(op, settings) || !(key.is_scheduled || Handle::try_current().is_ok()) {
            return Lookup::Forward;
        }
        let Some(answer) = key.answer(op, &self.node, now) else {
            return match key.wait(op) {
                Some(answered) => Lookup::Wait(answered),
                None if !key.key().is_told() => Lookup::Forward,
                None => {
                    drop(keys);
                    self.repeat_denial(op, out)
                }
            };
        };
        *out = Ok(answer.decision);
        if answer.over_admitted > 0 {
            self.over_admitted.add(answer.over_admitted);
        }
        let call = answer.calls_ahead.then(|| key.begin(Reason::Ahead(op), &self.node, now));
        let is_scheduled = key.is_scheduled;
        keys.count_answered();
        match is_scheduled {
            true => drop(keys),
            false => self.schedule_if_due(hash, keys),
        }
        if let Some(call) = call {
            self.spawn_call(hash, call);
        }
        Lookup::Answered
    }

    /// Answers a check of which the store knows everything, if it is known to be denied.
    fn repeat_denial(&self, op: &Op<'_>, out: &mut Result<Decision, StoreError>) -> Lookup {
        let Some(denial) = self.store.known_denial(op) else { return Lookup::Forward };
        *out = Ok(denial);
        Lookup::Answered
    }

    /// Begins a call of the store about an operation. Without room for its key, the store decides it alone.
    fn begin<'a>(&self, settings: K::Settings, op: &'a Op<'a>, index: usize) -> Part<'a, K> {
        let (hash, now) = (self.node.secret.first_subject(op), self.node.now());
        let alone = Part { hash, call: None, ops: vec![(index, op)] };
        let is_possible = is_possible::<K>(op.items);
        let Some(mut keys) = self.keys.lock(hash).filter(|_| is_possible) else { return alone };
        // A policy that has another number of limits now needs another entry.
        if !keys
            .get_mut(hash)
            .is_some_and(|key| key.update(op, &settings) || !key.has_nothing_open())
        {
            keys.insert(hash, Tracked::new(K::new(op, settings), op, settings), now);
        }
        let Some(key) = keys.get_mut(hash).filter(|key| key.has_limits_of(op)) else {
            return alone;
        };
        let call = key.begin(Reason::Decide(op), &self.node, now);
        Part { call: Some(call), ..alone }
    }

    /// Lets the store decide another check in a call that was begun.
    fn join<'a>(&self, part: &mut Part<'a, K>, op: &'a Op<'a>, index: usize) {
        if let Some(mut keys) = self.keys.lock(part.hash)
            && let (Some(key), Some(call)) = (keys.get_mut(part.hash), &mut part.call)
        {
            key.join(call, op);
        }
        part.ops.push((index, op));
    }

    /// Ends a call of the store about a key.
    fn finish(
        self: &Arc<Self>,
        hash: Hash,
        call: Option<&Call<K::Note>>,
        answers: Option<Answers>,
    ) {
        let Some(call) = call else { return };
        let Some(mut keys) = self.keys.lock(hash) else { return };
        let Some(key) = keys.get_mut(hash) else { return };
        let now = self.node.now();
        let over_admitted = key.finish(call, answers, &self.node, now);
        self.over_admitted.add(over_admitted);
        self.schedule_if_due(hash, keys);
    }

    fn spawn_call(self: &Arc<Self>, hash: Hash, call: Call<K::Note>) {
        // It is finished in any case: if there is no runtime, or the task is dropped before it begins.
        let call = UnfinishedCall::new(self, vec![Part::told(hash, call)]);
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move { call.send(&mut []).await });
        }
    }

    /// Lets the background look at a key, if there is something to do and it does not know yet.
    fn schedule_if_due(self: &Arc<Self>, hash: Hash, mut keys: Locked<'_, Tracked<K>>) {
        let Some(key) = keys.get_mut(hash).filter(|key| !key.is_scheduled) else { return };
        let Some(due_in) = key.key().due_in() else { return };
        key.is_scheduled = true;
        drop(keys);
        if self.schedule.push(after(due_in), hash)
            && let Ok(runtime) = Handle::try_current()
        {
            let shared = Arc::clone(self);
            runtime.spawn(async move { shared.serve().await });
        }
    }

    /// Looks at keys when they are due, until there are none.
    async fn serve(self: &Arc<Self>) {
        let Some(mut service) = self.schedule.serve() else { return };
        while let Some(keys) = service.next(MAX_KEYS).await {
            self.look(&keys).await;
        }
    }

    /// Looks at some keys, and calls the store about those that need it.
    async fn look(self: &Arc<Self>, hashes: &[Hash]) {
        let mut parts = Vec::new();
        for hash in hashes {
            let Some(mut keys) = self.keys.lock(*hash) else { continue };
            let Some(key) = keys.get_mut(*hash) else { continue };
            key.is_scheduled = false;
            let now = self.node.now();
            match key.look(&self.node, now) {
                Some(call) => parts.push(Part::told(*hash, call)),
                None => self.schedule_if_due(*hash, keys),
            }
        }
        if !parts.is_empty() {
            UnfinishedCall::new(self, parts).send(&mut []).await;
        }
    }
}
