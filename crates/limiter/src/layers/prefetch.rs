//! `prefetch`: this node takes a slice of a key's quota ahead, and spends it without the store.
//!
//! A slice is a reservation. The store has charged it before any of it is spent, so that all nodes together
//! never spend more than was charged. Slices grow with the rate of the key, up to a part of the limit, and the
//! next one is taken before the last is used up. What is not spent for a while is given back, by settling the
//! reservation with what was spent.

use std::time::Duration;

use smallvec::SmallVec;
use tollgate_core::{Act, Item, Op, PlainStore, Source, Time};

use super::costs::Costs;
use super::distribution::{Prefetch, parts_of};
use super::known::Known;
use super::local::{Answers, Context, LocalAnswer, LocalKey, Reason, Write, Writes};
use super::write_ids::WriteId;

/// What is not spent for as long as this is given back.
const IDLE: Duration = Duration::from_millis(100);
/// A slice that is used up within this time was too small, in microseconds.
const HOT: u64 = 50_000;
/// A slice that lasts for longer than this was too large, in microseconds.
const COOL: u64 = 500_000;

/// The quota that this node has taken ahead for one key.
pub(crate) struct PrefetchedKey {
    /// The most that may be taken ahead and not spent.
    max: Costs,
    known: Option<Known>,
    /// Those that are not used up, the oldest first.
    slices: SmallVec<[Slice; 1]>,
    /// What is left of them together.
    left: Costs,
    fetch: Option<Fetch>,
    /// Slices that are done with, and not settled yet.
    closed: SmallVec<[Slice; 1]>,
    /// Size of the last slice.
    last_size: Costs,
    /// Number of checks that the next slice is for.
    want: u64,
    /// When the store answered last, in microseconds: from then on there was something to spend.
    answered_at: u64,
    /// Whether the store denied the last check or slice.
    is_denied: bool,
    /// Whether quota was spent since the last look.
    is_touched: bool,
}

/// Some quota that was taken ahead.
#[derive(Debug, Clone)]
struct Slice {
    id: WriteId,
    size: Costs,
    left: Costs,
    /// When it was first asked for, in microseconds.
    since: u64,
    /// When it was asked for last: the store has charged it no earlier than `since`, and hardly later than this.
    sent_at: u64,
    /// From when on it would not count any more if nothing else did, in microseconds.
    counts_until: u64,
}

impl Slice {
    fn new(size: Costs, context: &Context<'_>) -> Slice {
        let items = context.op.items();
        let (now, items) = (context.now, size.items(&items));
        let charge = context.op.op(&items).with_act(Act::Charge);
        let charged = Time::from_micros(now).map(|at| PlainStore::default().apply_one(&charge, at));
        let counts_for = charged
            .and_then(Result::ok)
            .map_or(u64::MAX, |charged| charged.reset_after.as_micros());
        let (id, left) = (context.node.ids.next(), size.clone());
        let counts_until = now.saturating_add(counts_for);
        Slice { id, size, left, since: now, sent_at: now, counts_until }
    }
}

/// A slice that was asked for.
struct Fetch {
    slice: Slice,
    /// Otherwise the answer was lost, and it is asked for again under the same id.
    is_awaited: bool,
}

/// The slices that a call is about.
pub(crate) struct Note {
    settled: SmallVec<[WriteId; 1]>,
    fetched: Option<WriteId>,
}

impl PrefetchedKey {
    /// Takes the costs of a check from the oldest slices. Returns how much of them does not count any more at the
    /// store.
    fn take(&mut self, op: &Op<'_>, now: u64) -> u64 {
        let mut late = 0_u64;
        self.is_touched = true;
        self.left.subtract_costs_of(op);
        for (position, item) in op.items.iter().enumerate() {
            let mut cost = item.cost;
            for slice in &mut self.slices {
                let taken = slice.left.take(position, cost);
                cost -= taken;
                if now >= slice.counts_until {
                    late = late.max(taken);
                }
            }
        }
        while self.slices.first().is_some_and(|slice| slice.left.is_none()) {
            self.closed.push(self.slices.remove(0));
        }
        late
    }

    /// Closes slices that were taken in an earlier window: those of several windows together could exceed the
    /// limit.
    fn close_old(&mut self, context: &Context<'_>) {
        let counts_for = context.op.least_reset_after();
        let is_old = |slice: &&Slice| context.now.saturating_sub(slice.since) >= counts_for;
        while let Some(slice) = self.slices.first().filter(is_old) {
            self.left.subtract(&slice.left);
            self.closed.push(self.slices.remove(0));
        }
    }

    /// Returns whether more than half of the last slice is spent, and more is to be had.
    fn is_low(&self) -> bool {
        let mut sizes = self.left.iter().zip(self.last_size.iter());
        let is_half = sizes.any(|(left, size)| left.saturating_mul(2) < size);
        self.fetch.is_none() && !self.is_denied && is_half
    }

    /// Returns the next slice: for as many checks as the last one, or for twice as many if that one was used up
    /// soon. `is_decided` says that the first of them is decided by the store itself.
    fn next_slice(
        &mut self,
        op: &Op<'_>,
        is_decided: bool,
        context: &Context<'_>,
    ) -> Option<Slice> {
        let age = context.now.saturating_sub(self.answered_at);
        let want = match age {
            _ if self.is_denied => 1,
            0..HOT => self.want.saturating_mul(2),
            HOT..COOL => self.want,
            _ => (self.want / 2).max(1),
        };
        let (costs, room) = (Costs::of(op), self.max.less(&self.left));
        let each = costs.iter().zip(room.iter()).filter(|(cost, _)| *cost > 0);
        let most = each.map(|(cost, room)| room.checked_div(cost).unwrap_or(0)).min()?;
        self.want = want.min(most.saturating_add(1));
        let count = self.want.saturating_sub(u64::from(is_decided)).min(most);
        if count == 0 {
            return None;
        }
        let size: Costs = costs.iter().map(|cost| cost.saturating_mul(count)).collect();
        Some(Slice::new(size, context))
    }

    /// Returns the slice to ask for in a call.
    fn fetch(&mut self, reason: Reason<'_>, context: &Context<'_>) -> Option<Slice> {
        if let Some(fetch) = &mut self.fetch {
            if fetch.is_awaited {
                return None;
            }
            fetch.is_awaited = true;
            fetch.slice.sent_at = context.now;
            return Some(fetch.slice.clone());
        }
        let slice = match reason {
            Reason::Decide(op) if op.act == Act::Check => self.next_slice(op, true, context),
            Reason::Ahead(op) => self.next_slice(op, false, context),
            _ => None,
        }?;
        self.fetch = Some(Fetch { slice: slice.clone(), is_awaited: true });
        Some(slice)
    }

    fn is_fetching(&self) -> bool {
        self.fetch.as_ref().is_some_and(|fetch| fetch.is_awaited)
    }

    /// Forgets what does not count any more at the store.
    fn forget_old(&mut self, context: &Context<'_>) {
        let counts_for = context.op.full_reset_after();
        let is_old = |since: u64| context.now.saturating_sub(since) >= counts_for;
        self.closed.retain(|slice| !is_old(slice.sent_at));
        self.fetch.take_if(|fetch| !fetch.is_awaited && is_old(fetch.slice.since));
    }

    /// Ends the attempt to take a slice; `None` is no answer.
    fn end_fetch(&mut self, id: &WriteId, is_taken: Option<bool>) {
        let Some(mut fetch) = self.fetch.take_if(|fetch| fetch.slice.id == *id) else { return };
        match is_taken {
            None => {
                fetch.is_awaited = false;
                self.fetch = Some(fetch);
            }
            Some(true) => {
                self.left.add(&fetch.slice.left);
                self.last_size = fetch.slice.size.clone();
                self.slices.push(fetch.slice);
            }
            Some(false) => {
                self.want = (self.want / 2).max(1);
                self.is_denied |= self.want == 1;
            }
        }
    }

    fn close_all(&mut self) {
        self.closed.extend(self.slices.drain(..));
        self.left = Costs::none(self.max.len());
    }
}

impl LocalKey for PrefetchedKey {
    type Settings = Prefetch;
    type Note = Note;

    fn new(op: &Op<'_>, settings: Prefetch) -> PrefetchedKey {
        let none = Costs::none(op.items.len());
        PrefetchedKey {
            max: parts_of(op, settings.max_slice),
            known: None,
            slices: SmallVec::new(),
            left: none.clone(),
            fetch: None,
            closed: SmallVec::new(),
            last_size: none,
            want: 1,
            answered_at: 0,
            is_denied: false,
            is_touched: false,
        }
    }

    fn update(&mut self, op: &Op<'_>, settings: Prefetch, has_other_limits: bool) {
        self.max = parts_of(op, settings.max_slice);
        if has_other_limits {
            // Quota that was taken under other limits is not spent under these.
            self.close_all();
        }
    }

    fn answer(&mut self, op: &Op<'_>, context: &Context<'_>) -> Option<LocalAnswer> {
        self.close_old(context);
        let known = self.known.as_ref().filter(|_| !self.slices.is_empty())?;
        let fits = |(position, item): (usize, &Item<'_>)| item.cost <= self.left.get(position);
        if !op.items.iter().enumerate().all(fits) {
            return None;
        }
        let takes = op.act == Act::Check;
        let remaining = |position: usize| {
            let cost = op.items.get(position).filter(|_| takes).map_or(0, |item| item.cost);
            let left = self.left.get(position).saturating_sub(cost);
            known.remaining_of(position).saturating_add(left)
        };
        let decision = known.admission(op, remaining, context.now).with_source(Source::Prefetch);
        let over_admitted = if takes { self.take(op, context.now) } else { 0 };
        Some(LocalAnswer { decision, over_admitted, calls_ahead: takes && self.is_low() })
    }

    fn awaits(&self, _: &Op<'_>) -> bool {
        self.is_fetching()
    }

    /// Not before the slice that is asked for is there.
    fn is_worth_waking(&self) -> bool {
        !self.is_fetching()
    }

    fn begin(&mut self, reason: Reason<'_>, context: &Context<'_>) -> Writes<Note> {
        self.forget_old(context);
        let settle = |slice: &Slice| {
            let spent = slice.size.less(&slice.left);
            Write { act: Act::Settle, id: Some(slice.id.clone()), costs: spent }
        };
        let before = self.closed.iter().map(settle).collect();
        let settled = self.closed.iter().map(|slice| slice.id.clone()).collect();
        let fetch = self.fetch(reason, context);
        let fetched = fetch.as_ref().map(|slice| slice.id.clone());
        let reserve =
            |slice: Slice| Write { act: Act::Reserve, id: Some(slice.id), costs: slice.size };
        Writes { before, after: fetch.map(reserve), note: Note { settled, fetched } }
    }

    fn finish(
        &mut self,
        writes: &Writes<Note>,
        answers: Option<Answers>,
        context: &Context<'_>,
    ) -> u64 {
        let Note { settled, fetched } = &writes.note;
        let Answers { before, op, after } = answers.unwrap_or_default();
        for (id, _) in settled.iter().zip(&before).filter(|(_, answer)| answer.is_answered) {
            self.closed.retain(|slice| slice.id != *id);
        }
        let op = op.filter(|answer| answer.is_answered);
        if let Some(answer) = &op {
            self.is_denied = !answer.is_allowed;
        }
        let after = after.filter(|answer| answer.is_answered);
        if op.is_some() || after.is_some() {
            self.answered_at = context.now;
        }
        if let Some(id) = fetched {
            self.end_fetch(id, after.as_ref().map(|answer| answer.is_allowed));
        }
        let known = [after, op].into_iter().flatten().find_map(|answer| answer.known);
        self.known = known.or(self.known.take());
        0
    }

    fn due_in(&self) -> Option<Duration> {
        let is_open = !self.slices.is_empty() || !self.closed.is_empty() || self.fetch.is_some();
        is_open.then_some(IDLE)
    }

    /// Gives back what was not spent since the last look.
    fn look(&mut self) -> bool {
        if !std::mem::take(&mut self.is_touched) && !self.slices.is_empty() {
            self.close_all();
            self.want = (self.want / 2).max(1);
        }
        let is_lost = self.fetch.as_ref().is_some_and(|fetch| !fetch.is_awaited);
        !self.closed.is_empty() || is_lost
    }

    fn gauge(&self) -> u64 {
        self.left.first()
    }

    fn is_idle(&self, _: u64) -> bool {
        self.due_in().is_none()
    }
}
