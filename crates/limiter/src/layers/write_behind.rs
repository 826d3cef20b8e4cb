//! `write_behind`: this node answers by what it knows of a key, and tells the store afterwards.
//!
//! A check that is answered here costs no round trip. What was admitted is written every few milliseconds,
//! many keys in one call, and the answers say what other nodes have written. At the cap on unwritten cost,
//! near the limit, and for keys that are not known, the store decides, in one call that also writes what is
//! unwritten.
//!
//! The node admits a check if the store would have admitted it when it answered last, less everything that
//! this node has taken since. What other nodes have taken since is unknown; but each of them has at most its
//! cap unwritten, and learns what the others took whenever it writes. So all of them together admit at most
//! one cap too much for each other node, however old their knowledge is: the node that has heard from the store
//! last counts everything but what is unwritten elsewhere.

use std::time::Duration;

use smallvec::{SmallVec, smallvec};
use tollgate_core::{Act, Item, Limit, LimitStatuses, Op, PlainStore, Source, Time};

use super::costs::{Costs, all};
use super::distribution::{FirstRead, WriteBehind, parts_of};
use super::known::Known;
use super::local::{Answers, Context, LocalAnswer, LocalKey, Reason, Write, Writes};
use super::write_ids::WriteId;

/// Maximum number of writes of a key whose answers are awaited. With more, the store decides every check.
const MAX_WRITES: usize = 8;
/// How long a key is remembered that the store knows all about, in microseconds.
const MAX_AGE: u64 = 1_000_000;
/// When a write that failed is tried again.
const RETRY: Duration = Duration::from_millis(100);

/// What this node knows of one key, and what the store does not know of it yet.
pub(crate) struct UnwrittenKey {
    settings: WriteBehind,
    caps: Costs,
    /// What the store said last.
    known: Option<Known>,
    /// What was admitted here and is not confirmed by the store.
    unwritten: Costs,
    /// The part of it that is in no write yet.
    fresh: Costs,
    writes: SmallVec<[Unanswered; 1]>,
    /// What the store is deciding right now.
    under_way: Costs,
    /// All that the store has confirmed so far.
    confirmed: Costs,
    next_call: u64,
    /// The last call that was answered: what earlier ones say is older.
    newest_call: u64,
    /// Whether the last write failed.
    has_failed: bool,
    /// When it can be forgotten, in microseconds.
    idle_at: u64,
}

/// Some cost on its way to the store. Until it is answered it is repeated under its id.
#[derive(Debug, Clone)]
struct Unanswered {
    id: WriteId,
    costs: Costs,
    /// When it was first sent, in microseconds.
    since: u64,
    is_repeated: bool,
}

/// What is needed to make sense of the answers to a call.
pub(crate) struct Note {
    number: u64,
    /// Whether the state before the writes is asked for, to see what was admitted beyond the limit.
    has_peek: bool,
    writes: SmallVec<[Unanswered; 1]>,
    /// What each operation of this call takes, if it is allowed.
    costs: SmallVec<[Costs; 1]>,
    /// All that was confirmed when it began.
    confirmed: Costs,
}

impl UnwrittenKey {
    fn none(&self) -> Costs {
        Costs::none(self.caps.len())
    }

    /// Notes that the store decides an operation. Returns what that takes, if it is allowed.
    fn decide(&mut self, op: &Op<'_>) -> Costs {
        let costs = if op.act == Act::Check { Costs::of(op) } else { self.none() };
        self.under_way.add(&costs);
        costs
    }

    /// Returns whether other nodes may have used up what remains.
    fn is_near(&self, nodes: u32) -> bool {
        let Some(known) = &self.known else { return true };
        let mut far = self.caps.times(nodes);
        far.add(&self.unwritten);
        !far.fits_in(&known.remaining())
    }

    /// Forgets what would not count any more even if it had been written at once.
    fn forget_old_writes(&mut self, context: &Context<'_>) {
        let (longest, unwritten) = (context.op.full_reset_after(), &mut self.unwritten);
        self.writes.retain(|write| {
            let counts = context.now.saturating_sub(write.since) < longest;
            if !counts {
                unwritten.subtract(&write.costs);
            }
            counts
        });
    }

    /// Removes the writes that were answered. Returns their cost.
    fn confirm(&mut self, note: &Note, is_written: impl Iterator<Item = bool>) -> Costs {
        let mut sum = self.none();
        for (write, _) in note.writes.iter().zip(is_written).filter(|(_, is_written)| *is_written) {
            // Another call may have carried it, too.
            let before = self.writes.len();
            self.writes.retain(|other| other.id != write.id);
            if self.writes.len() < before {
                sum.add(&write.costs);
            }
        }
        self.unwritten.subtract(&sum);
        sum
    }

    fn learn(&mut self, known: Known) {
        self.idle_at = match self.settings.read {
            FirstRead::Sync => known.received_at().saturating_add(MAX_AGE),
            // Forgotten any earlier, it would be taken for a fresh key.
            FirstRead::None => known.resets_at(),
        };
        self.known = Some(known);
    }

    /// Forgets what is known: the store may have changed in a way that this node did not see.
    fn lose(&mut self, context: &Context<'_>) {
        self.known = None;
        self.idle_at = match self.settings.read {
            FirstRead::Sync => context.now,
            FirstRead::None => context.now.saturating_add(context.op.full_reset_after()),
        };
    }
}

impl LocalKey for UnwrittenKey {
    type Settings = WriteBehind;
    type Note = Note;

    #[inline]
    fn is_possible_for(limit: &Limit) -> bool {
        WriteBehind::is_possible_for(limit)
    }

    fn new(op: &Op<'_>, settings: WriteBehind) -> UnwrittenKey {
        let none = Costs::none(op.items.len());
        UnwrittenKey {
            settings,
            caps: parts_of(op, settings.cap),
            known: None,
            unwritten: none.clone(),
            fresh: none.clone(),
            writes: SmallVec::new(),
            under_way: none.clone(),
            confirmed: none,
            next_call: 1,
            newest_call: 0,
            has_failed: false,
            idle_at: 0,
        }
    }

    fn assumes(settings: &WriteBehind) -> bool {
        settings.read == FirstRead::None
    }

    fn assumed(op: &Op<'_>, settings: WriteBehind, now: u64) -> Option<UnwrittenKey> {
        let statuses = LimitStatuses::default();
        let mut peek = op.with_act(Act::Peek);
        peek.statuses = Some(&statuses);
        let decision = PlainStore::default().apply_one(&peek, Time::from_micros(now)?).ok()?;
        let mut key = UnwrittenKey::new(op, settings);
        key.learn(Known::from_answer(op, &decision, Some(&statuses), now));
        Some(key)
    }

    fn update(&mut self, op: &Op<'_>, settings: WriteBehind, has_other_limits: bool) {
        self.settings = settings;
        self.caps = parts_of(op, settings.cap);
        if has_other_limits {
            self.known = None;
        }
    }

    #[inline]
    fn answer(&mut self, op: &Op<'_>, context: &Context<'_>) -> Option<LocalAnswer> {
        // While the store decides a check of this node, what is admitted here is not in its decision: the store
        // may fill up the limit without it.
        let is_free = self.writes.len() < MAX_WRITES && self.under_way.is_none();
        let known = self.known.as_ref().filter(|_| is_free)?;
        let takes = op.act == Act::Check;
        let after = |position: usize, cost: u64| {
            let unwritten = self.unwritten.get(position);
            if takes { unwritten.saturating_add(cost) } else { unwritten }
        };
        let fits = |position: usize, item: &Item<'_>| {
            let unwritten = after(position, item.cost);
            // One more must fit: how long to wait for it otherwise only the store knows.
            let wanted = unwritten.saturating_add(item.cost);
            unwritten <= self.caps.get(position) && wanted <= known.remaining_of(position)
        };
        if !all(op.items, fits) {
            return None;
        }
        if takes {
            self.unwritten.add_costs_of(op);
            self.fresh.add_costs_of(op);
        }
        let remaining = |position: usize| {
            known.remaining_of(position).saturating_sub(self.unwritten.get(position))
        };
        let unwritten = |position: usize| self.unwritten.get(position);
        let decision = known.admission(op, remaining, unwritten, context.now);
        let decision = decision.with_source(Source::Local);
        Some(LocalAnswer { decision, over_admitted: 0, calls_ahead: false })
    }

    /// At the cap, or if nothing is known yet: not if the cost is beyond the cap in any case.
    fn awaits(&self, op: &Op<'_>) -> bool {
        Costs::of(op).fits_in(&self.caps)
    }

    fn begin(&mut self, reason: Reason<'_>, context: &Context<'_>) -> Writes<Note> {
        self.forget_old_writes(context);
        let has_peek = !self.fresh.is_none() && self.is_near(context.node.nodes);
        if !self.fresh.is_none() {
            let none = self.none();
            let costs = std::mem::replace(&mut self.fresh, none);
            let (id, since) = (context.node.ids.next(), context.now);
            self.writes.push(Unanswered { id, costs, since, is_repeated: false });
        }
        let writes = self.writes.clone();
        self.writes.iter_mut().for_each(|write| write.is_repeated = true);
        let costs = match reason {
            Reason::Decide(op) => smallvec![self.decide(op)],
            _ => SmallVec::new(),
        };
        let number = self.next_call;
        self.next_call = number.saturating_add(1);
        let peek = has_peek.then(|| Write { act: Act::Peek, id: None, costs: self.none() });
        let charge = |write: &Unanswered| {
            let (id, costs) = (Some(write.id.clone()), write.costs.clone());
            Write { act: Act::Charge, id, costs }
        };
        let before = peek.into_iter().chain(writes.iter().map(charge)).collect();
        let confirmed = self.confirmed.clone();
        Writes { before, after: None, note: Note { number, has_peek, writes, costs, confirmed } }
    }

    fn join(&mut self, writes: &mut Writes<Note>, op: &Op<'_>) {
        writes.note.costs.push(self.decide(op));
    }

    fn finish(
        &mut self,
        writes: &Writes<Note>,
        answers: Option<Answers>,
        context: &Context<'_>,
    ) -> u64 {
        let note = &writes.note;
        note.costs.iter().for_each(|costs| self.under_way.subtract(costs));
        let Some(Answers { mut before, mut ops, .. }) = answers else {
            self.has_failed = true;
            self.newest_call = self.newest_call.max(note.number);
            self.lose(context);
            return 0;
        };
        let peek = note.has_peek.then(|| before.remove(0));
        let mut own = self.confirm(note, before.iter().map(|answer| answer.is_answered));
        self.has_failed = before.iter().any(|answer| !answer.is_answered);
        for (costs, _) in note.costs.iter().zip(&ops).filter(|(_, answer)| answer.is_allowed) {
            own.add(costs);
        }
        // What other calls have confirmed meanwhile may not be in this answer yet.
        let others = self.confirmed.less(&note.confirmed);
        self.confirmed.add(&own);
        let is_repeated = note.writes.last().is_some_and(|write| write.is_repeated);
        let known = match ops.pop() {
            Some(answer) => answer.known,
            None => before.pop().and_then(|answer| answer.known).filter(|_| !is_repeated),
        };
        let is_newest = self.newest_call < note.number;
        self.newest_call = self.newest_call.max(note.number);
        match known {
            Some(mut known) if is_newest => {
                known.subtract(&others);
                self.learn(known);
            }
            // Calls that overtake each other: which of them knows more cannot be told.
            _ => self.lose(context),
        }
        peek.and_then(|peek| peek.known).map_or(0, |known| beyond(note, self.none(), &known))
    }

    fn due_in(&self) -> Option<Duration> {
        let due_in = if self.has_failed { RETRY } else { self.settings.flush };
        (!self.unwritten.is_none()).then_some(due_in)
    }

    fn look(&mut self) -> bool {
        !self.unwritten.is_none()
    }

    fn is_told(&self) -> bool {
        self.unwritten.is_none()
    }

    fn gauge(&self) -> u64 {
        self.unwritten.first()
    }

    fn is_idle(&self, now: u64) -> bool {
        self.unwritten.is_none() && now >= self.idle_at
    }
}

/// Returns what the new writes of a call take beyond the limit, by what was known just before.
fn beyond(note: &Note, none: Costs, before: &Known) -> u64 {
    let mut written = none;
    let new = note.writes.iter().filter(|write| !write.is_repeated);
    new.for_each(|write| written.add(&write.costs));
    written.less(&before.remaining()).iter().max().unwrap_or(0)
}
