//! Slots: sliding-log and sliding-counters.
//!
//! **What it is.** A count for each slot of time, and their running total. A slot counts for a
//! while after it began and is then forgotten. The log is the same with slots of one tick.
//!
//! **What it promises.** With a strict edge never more than `capacity` in any `window`, wherever it
//! is laid. With a lenient edge a slot may be forgotten up to its own width early; at one tick that
//! is exact.
//!
//! **What it costs.** Two numbers for every slot that was used: at most `window / width + 2` of
//! them, and for the log one for every instant that took something.

use std::collections::VecDeque;

use super::{Counting, Handle, MAX_COUNT, Taken};
use crate::error::Overdrawn;
use crate::remote::RuleParams;
use crate::time::{Span, Time};

/// How time is cut: the width of a slot, and how long one counts from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) width: Span,
    pub(super) life: Span,
}

/// At most `capacity` in all slots that count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slots {
    capacity: u64,
    cut: Cut,
}

#[derive(Debug, Clone)]
pub(super) struct Slot {
    pub(super) start: Time,
    pub(super) count: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct SlotsState {
    pub(super) cut: Cut,
    total: u64,
    /// Never empty, and from the oldest on.
    pub(super) slots: VecDeque<Slot>,
}

impl Slots {
    /// A strict edge keeps a slot until its youngest event is a window old, a lenient one until
    /// its oldest could be.
    pub(crate) fn new(capacity: u64, window: Span, width: Span, strict: bool) -> Slots {
        let life = if strict { window.plus(width) } else { window };
        Slots { capacity, cut: Cut { width, life } }
    }

    pub(crate) fn params(&self) -> RuleParams {
        let Cut { width, life } = self.cut;
        RuleParams::Slots { capacity: self.capacity, width, life }
    }

    pub(crate) fn width(&self) -> Span {
        self.cut.width
    }

    /// The most slots one key can have, if nothing is charged beyond the capacity.
    pub(crate) fn most_slots(&self) -> u64 {
        self.cut.life.steps(self.cut.width).saturating_add(1).min(self.capacity)
    }
}

impl SlotsState {
    fn new(cut: Cut, start: Time, count: u64) -> SlotsState {
        SlotsState { cut, total: count, slots: VecDeque::from([Slot { start, count }]) }
    }

    /// A body of these slots, from the oldest on.
    pub(super) fn of(cut: Cut, slots: Vec<Slot>) -> SlotsState {
        let total = slots.iter().fold(0_u64, |sum, slot| sum.saturating_add(slot.count));
        SlotsState { cut, total, slots: slots.into() }
    }

    fn ends(&self, slot: &Slot) -> Time {
        slot.start.after(self.cut.life)
    }

    /// What counts at `now`.
    fn used(&self, now: Time) -> u64 {
        let past = self.slots.iter().take_while(|slot| self.ends(slot) <= now);
        let past = past.fold(0_u64, |sum, slot| sum.saturating_add(slot.count));
        self.total.saturating_sub(past)
    }

    /// Drops what can never count again: no decision is made before the newest slot began. What is
    /// past now, but was not then, is kept for a clock that steps back.
    fn drop_past(&mut self) {
        let instant = Slots::instant(self);
        while let Some(oldest) = self.slots.front() {
            if self.ends(oldest) > instant {
                break;
            }
            self.total = self.total.saturating_sub(oldest.count);
            self.slots.pop_front();
        }
    }

    /// Adds to the slot that starts there, wherever that is among the others.
    fn add(&mut self, start: Time, cost: u64) {
        self.total = self.total.saturating_add(cost);
        let place = self.slots.partition_point(|slot| slot.start < start);
        match self.slots.get_mut(place) {
            Some(slot) if slot.start == start => slot.count = slot.count.saturating_add(cost),
            _ => self.slots.insert(place, Slot { start, count: cost }),
        }
    }

    /// Which slot `at` falls into.
    fn place_of(&self, at: Time) -> Option<usize> {
        let place = self.slots.partition_point(|slot| slot.start <= at).checked_sub(1)?;
        let slot = self.slots.get(place)?;
        (at < slot.start.after(self.cut.width)).then_some(place)
    }

    /// Takes from one slot, which goes when nothing is left in it. Answers how much was there.
    fn remove(&mut self, place: usize, cost: u64) -> u64 {
        let Some(slot) = self.slots.get_mut(place) else {
            return 0;
        };
        let taken = slot.count.min(cost);
        slot.count = slot.count.saturating_sub(taken);
        self.total = self.total.saturating_sub(taken);
        if slot.count == 0 {
            self.slots.remove(place);
        }
        taken
    }
}

/// A body in which nothing counts any more is none.
fn tidy(body: &mut Option<SlotsState>, now: Time) {
    match body {
        Some(state) if state.used(now) > 0 => state.drop_past(),
        _ => *body = None,
    }
}

impl Counting for Slots {
    type Body = SlotsState;

    fn capacity(&self) -> u64 {
        self.capacity
    }

    /// How long the newest slot counts.
    fn full_reset_after(&self) -> Span {
        self.cut.life
    }

    fn instant(body: &SlotsState) -> Time {
        body.slots.back().map_or(Time::EPOCH, |newest| newest.start)
    }

    fn resets(body: &SlotsState) -> Time {
        body.slots.back().map_or(Time::EPOCH, |newest| body.ends(newest))
    }

    fn headroom(&self, body: &SlotsState, now: Time) -> Option<u64> {
        self.capacity.checked_sub(body.used(now))
    }

    fn fits_at(&self, body: &SlotsState, _: Time, cost: u64) -> Time {
        let room = self.capacity.saturating_sub(cost);
        let mut used = body.total;
        for slot in &body.slots {
            used = used.saturating_sub(slot.count);
            if used <= room {
                return body.ends(slot);
            }
        }
        Slots::resets(body)
    }

    /// Where the cut was changed, all that still counts moves into the slot of now.
    fn take(
        &self,
        body: &mut Option<SlotsState>,
        now: Time,
        cost: u64,
        _: Option<Handle<'_>>,
    ) -> Result<(), Overdrawn> {
        let used = body.as_ref().map_or(0, |body| body.used(now));
        let total = used.saturating_add(cost);
        if total > MAX_COUNT {
            return Err(Overdrawn);
        }
        let start = now.floor_to(self.cut.width);
        match body {
            Some(body) if body.cut == self.cut => {
                body.add(start, cost);
                body.drop_past();
            }
            _ => *body = Some(SlotsState::new(self.cut, start, total)),
        }
        Ok(())
    }

    fn give(&self, body: &mut Option<SlotsState>, now: Time, cost: u64) {
        let Some(state) = body else { return };
        let mut left = cost.min(state.used(now));
        while let (1.., Some(newest)) = (left, state.slots.len().checked_sub(1)) {
            left = left.saturating_sub(state.remove(newest, left));
        }
        tidy(body, now);
    }

    fn refundable(&self, body: &SlotsState, now: Time, taken: Taken<'_>) -> u64 {
        let slot = body.place_of(taken.at).and_then(|place| body.slots.get(place));
        slot.filter(|slot| now < body.ends(slot)).map_or(0, |slot| slot.count)
    }

    fn overlap(&self, cost: u64, taken: Taken<'_>, other: Taken<'_>) -> u64 {
        let slot = |taken: Taken<'_>| taken.at.floor_to(self.cut.width);
        if slot(taken) == slot(other) { cost } else { 0 }
    }

    fn give_back(
        &self,
        body: &mut Option<SlotsState>,
        now: Time,
        cost: u64,
        taken: Taken<'_>,
    ) -> bool {
        let Some(state) = body else { return false };
        if let Some(place) = state.place_of(taken.at) {
            state.remove(place, cost);
        }
        tidy(body, now);
        true
    }

    fn charge_at(
        &self,
        body: &mut Option<SlotsState>,
        now: Time,
        cost: u64,
        taken: Taken<'_>,
    ) -> Result<bool, Overdrawn> {
        let start = taken.at.floor_to(self.cut.width);
        if start.after(self.cut.life) <= now {
            return Ok(false);
        }
        match body {
            Some(state) if state.cut == self.cut => {
                if state.used(now).saturating_add(cost) > MAX_COUNT {
                    return Err(Overdrawn);
                }
                state.add(start, cost);
                state.drop_past();
                Ok(true)
            }
            None => self.take(body, taken.at, cost, Some(taken.handle)).map(|()| true),
            Some(_) => self.take(body, now, cost, Some(taken.handle)).map(|()| true),
        }
    }
}
