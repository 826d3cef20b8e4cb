//! `prefetch`: this node takes a slice of a key's quota ahead, and spends it without the store.
//!
//! A slice is a reservation. The store has charged it before any of it is spent, so that all nodes together
//! never spend more than was charged. Slices grow with the rate of the key, up to a part of the limit, and the
//! next one is taken before the last is used up. What is not spent for a while is given back, by settling the
//! reservation with what was spent.

mod slice;

use std::time::Duration;

use smallvec::SmallVec;
use tollgate_core::{Act, Item, Limit, Op, Source};

use super::costs::{Costs, all, for_each};
use super::distribution::{Prefetch, parts_of};
use super::known::Known;
use super::local::{Answers, Context, LocalAnswer, LocalKey, Reason, Write, Writes};
use super::write_ids::WriteId;
use slice::Slice;

/// What is not spent for as long as this is given back.
const IDLE: Duration = Duration::from_millis(100);
/// A slice that is used up within this time was too small, in microseconds.
const HOT: u64 = 50_000;
/// How many times as large as the last one a slice may be.
const MAX_GROWTH: u64 = 16;
/// A slice that lasts for longer than this was too large, in microseconds.
const COOL: u64 = 500_000;

/// The quota that this node has taken ahead for one key.
pub(crate) struct PrefetchedKey {
    /// The most that may be taken ahead and not spent.
    max: Costs,
    known: Option<Known>,
    /// Whether other nodes may have used up what remains.
    is_near: bool,
    /// Those that are not used up, the oldest first.
    slices: SmallVec<[Slice; 1]>,
    /// What is left of them together.
    left: Costs,
    /// The one that was asked for.
    fetch: Option<Slice>,
    /// Those that are done with, and not settled yet.
    closed: SmallVec<[Slice; 1]>,
    /// Size of the last slice.
    last_size: Costs,
    /// Number of checks that the next slice is for.
    want: u64,
    /// Number of checks for which there was nothing left, since a slice was asked for last.
    missed: u64,
    /// When the store answered last, in microseconds: from then on there was something to spend.
    answered_at: u64,
    /// Whether the store denied the last check or slice.
    is_denied: bool,
    /// Whether quota was spent since the last look.
    is_touched: bool,
    /// Whether the limits were others at the last check. A slice would not be used if they change each time.
    has_other_limits: bool,
}

/// The slices that a call is about.
pub(crate) struct Note {
    settled: SmallVec<[WriteId; 1]>,
    fetched: Option<WriteId>,
}

impl PrefetchedKey {
    /// Takes the costs of a check from the oldest slices. Returns how much of them does not count any more at the
    /// store.
    #[inline]
    fn take(&mut self, op: &Op<'_>, now: u64) -> u64 {
        let mut late = 0_u64;
        self.is_touched = true;
        self.left.subtract_costs_of(op);
        for_each(op.items, |position, item| {
            let mut cost = item.cost;
            for slice in &mut self.slices {
                let taken = slice.left.take(position, cost);
                cost -= taken;
                if now >= slice.counts_until {
                    late = late.max(taken);
                }
            }
        });
        while self.slices.first().is_some_and(|slice| slice.left.is_none()) {
            self.closed.push(self.slices.remove(0));
        }
        late
    }

    /// Closes slices that were taken in an earlier window.
    #[inline]
    fn close_expired(&mut self, now: u64) {
        while let Some(slice) = self.slices.first().filter(|slice| now >= slice.expires_at) {
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

    /// Returns how many checks the next slice is for: as many as the last one, or more if that one was used up
    /// soon, so that it lasts for about [`HOT`], and enough for those that had to wait.
    fn next_want(&mut self, now: u64) -> u64 {
        let missed = std::mem::take(&mut self.missed);
        if self.is_denied {
            return 1;
        }
        match now.saturating_sub(self.answered_at) {
            age @ 0..HOT => {
                let growth = HOT.checked_div(age).unwrap_or(MAX_GROWTH);
                self.want.saturating_mul(growth.clamp(2, MAX_GROWTH)).max(missed)
            }
            HOT..COOL => self.want.max(missed),
            _ => (self.want / 2).max(1),
        }
    }

    /// Returns the next slice. `is_decided` says that the first of them is decided by the store itself.
    fn next_slice(
        &mut self,
        op: &Op<'_>,
        is_decided: bool,
        context: &Context<'_>,
    ) -> Option<Slice> {
        let want = self.next_want(context.now);
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

    /// Asks for a slice in a call, or again for one whose answer was lost.
    fn fetch(&mut self, reason: Reason<'_>, context: &Context<'_>) -> Option<Write> {
        if let Some(fetch) = &mut self.fetch {
            if fetch.is_awaited {
                return None;
            }
            fetch.is_awaited = true;
            fetch.sent_at = context.now;
            return Some(fetch.reserve());
        }
        let slice = match reason {
            _ if std::mem::take(&mut self.has_other_limits) => None,
            // A check with an id goes to the store in any case, and could not spend a slice.
            Reason::Decide(op) if op.act == Act::Check && op.id.is_none() => {
                self.next_slice(op, true, context)
            }
            Reason::Ahead(op) => self.next_slice(op, false, context),
            _ => None,
        }?;
        let slice = self.fetch.insert(slice);
        Some(slice.reserve())
    }

    /// Settles slices in a call. With a check that is decided there goes all that is given back, so that the check
    /// does not miss it. A slice that was used up changes nothing for the check, and waits for another call.
    fn settle(&mut self, reason: Reason<'_>) -> SmallVec<[Write; 1]> {
        let is_due = |slice: &&mut Slice| match reason {
            Reason::Decide(_) => !slice.left.is_none(),
            Reason::Ahead(_) | Reason::Due => !slice.is_awaited,
        };
        let mut writes = SmallVec::new();
        for slice in self.closed.iter_mut().filter(is_due) {
            slice.is_awaited = true;
            writes.push(slice.settle());
        }
        writes
    }

    /// Learns from an answer of the store.
    fn learn(&mut self, known: Known, nodes: u32) {
        self.is_near = !self.max.times(nodes).fits_in(&known.remaining());
        self.known = Some(known);
    }

    fn is_fetching(&self) -> bool {
        self.fetch.as_ref().is_some_and(|fetch| fetch.is_awaited)
    }

    /// Forgets what does not count any more at the store.
    fn forget_old(&mut self, context: &Context<'_>) {
        let counts_for = context.op.full_reset_after();
        let is_old = |since: u64| context.now.saturating_sub(since) >= counts_for;
        self.closed.retain(|slice| !is_old(slice.sent_at));
        self.fetch.take_if(|fetch| !fetch.is_awaited && is_old(fetch.since));
    }

    /// Ends the attempt to take a slice; `None` is no answer.
    fn end_fetch(&mut self, id: &WriteId, is_taken: Option<bool>) {
        let Some(mut slice) = self.fetch.take_if(|fetch| fetch.id == *id) else { return };
        slice.is_awaited = false;
        match is_taken {
            None => self.fetch = Some(slice),
            Some(true) if slice.is_outdated => self.closed.push(slice),
            Some(true) => {
                self.left.add(&slice.left);
                self.last_size = slice.size.clone();
                self.slices.push(slice);
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

    #[inline]
    fn is_possible_for(limit: &Limit) -> bool {
        Prefetch::is_possible_for(limit)
    }

    fn new(op: &Op<'_>, settings: Prefetch) -> PrefetchedKey {
        let none = Costs::none(op.items.len());
        PrefetchedKey {
            max: parts_of(op, settings.max_slice),
            known: None,
            is_near: true,
            slices: SmallVec::new(),
            left: none.clone(),
            fetch: None,
            closed: SmallVec::new(),
            last_size: none,
            want: 1,
            missed: 0,
            answered_at: 0,
            is_denied: false,
            is_touched: false,
            has_other_limits: false,
        }
    }

    fn update(&mut self, op: &Op<'_>, settings: Prefetch, has_other_limits: bool) {
        self.max = parts_of(op, settings.max_slice);
        self.has_other_limits = has_other_limits;
        if has_other_limits {
            // Quota that was taken under other limits is not spent under these.
            self.close_all();
            self.fetch.iter_mut().for_each(|fetch| fetch.is_outdated = true);
        }
    }

    #[inline]
    fn answer(&mut self, op: &Op<'_>, context: &Context<'_>) -> Option<LocalAnswer> {
        self.close_expired(context.now);
        let takes = op.act == Act::Check;
        let fits = |position: usize, item: &Item<'_>| item.cost <= self.left.get(position);
        let is_enough = !self.slices.is_empty() && all(op.items, fits);
        let Some(known) = self.known.as_ref().filter(|_| is_enough) else {
            self.missed = self.missed.saturating_add(takes.into());
            return None;
        };
        let remaining = |position: usize| {
            let cost = op.items.get(position).filter(|_| takes).map_or(0, |item| item.cost);
            let left = self.left.get(position).saturating_sub(cost);
            known.remaining_of(position).saturating_add(left)
        };
        // The store has charged everything that is spent here.
        let decision = known.admission(op, remaining, |_| 0, context.now);
        let decision = decision.with_source(Source::Prefetch);
        let late = if takes { self.take(op, context.now) } else { 0 };
        let over_admitted = if self.is_near { late } else { 0 };
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
        let before = self.settle(reason);
        let settled = before.iter().filter_map(|write| write.id.clone()).collect();
        let after = self.fetch(reason, context);
        let fetched = after.as_ref().and_then(|write| write.id.clone());
        Writes { before, after, note: Note { settled, fetched } }
    }

    fn finish(
        &mut self,
        writes: &Writes<Note>,
        answers: Option<Answers>,
        context: &Context<'_>,
    ) -> u64 {
        let Note { settled, fetched } = &writes.note;
        let Answers { before, mut ops, after } = answers.unwrap_or_default();
        for (index, id) in settled.iter().enumerate() {
            if before.get(index).is_some_and(|answer| answer.is_answered) {
                self.closed.retain(|slice| slice.id != *id);
            } else if let Some(lost) = self.closed.iter_mut().find(|slice| slice.id == *id) {
                lost.is_awaited = false;
            }
        }
        // What counts is what the last of them says.
        let op = ops.pop().filter(|answer| answer.is_answered);
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
        if let Some(known) = known {
            self.learn(known, context.node.nodes);
        }
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
        self.closed.iter().chain(&self.fetch).any(|slice| !slice.is_awaited)
    }

    fn is_told(&self) -> bool {
        self.closed.iter().all(|slice| slice.left.is_none())
    }

    fn gauge(&self) -> u64 {
        self.left.first()
    }

    fn is_idle(&self, _: u64) -> bool {
        self.due_in().is_none()
    }
}
