//! Slots: sliding-log and sliding-counters.
//!
//! **What it is.** A count for each slot of time, and their running total. A slot counts for a
//! fixed time from its start and is then forgotten. The log is the same with slots of one tick.
//!
//! **What it promises.** With a strict edge never more than `capacity` in any `window`, wherever it
//! starts. With a lenient edge a slot may be forgotten up to its own width early; with slots of one
//! tick that is exact.
//!
//! **What it costs.** Two numbers for every slot that was used: at most `window / width + 2` slots,
//! and for the log one slot for every instant that took cost.

use super::counting::{Counting, InPlace, MAX_COUNT, MAX_ENTRIES, Taken};
use super::footprint::ListSize;
use super::handle::Handle;
use super::list::List;
use super::pack::{Pack, Words};
use super::params::RuleParams;
use crate::error::Overdrawn;
use crate::time::{Span, Time};
use crate::walked::walk;

/// Maximum number of slots of one key. One of them may have ended since the newest one began.
pub const MAX_SLOTS: usize = MAX_ENTRIES + 1;

/// How time is divided: the width of a slot, and how long one counts from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SlotTiming {
    pub(super) width: Span,
    pub(super) life: Span,
}

/// At most `capacity` in all slots that count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slots {
    capacity: u64,
    timing: SlotTiming,
}

/// A slot and what is counted in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    pub(super) start: Time,
    pub(super) count: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct SlotsState {
    pub(super) timing: SlotTiming,
    total: u64,
    /// Never empty; oldest first.
    pub(super) slots: List<Slot>,
}

impl Slots {
    /// Creates the rule. A strict edge keeps a slot until its newest event is a window old, a
    /// lenient one until its oldest could be.
    pub(crate) fn new(capacity: u64, window: Span, width: Span, strict: bool) -> Slots {
        let life = if strict { window.plus(width) } else { window };
        Slots { capacity, timing: SlotTiming { width, life } }
    }

    pub(super) fn with(timing: SlotTiming, capacity: u64) -> Slots {
        Slots { capacity, timing }
    }

    pub(super) fn params(&self) -> RuleParams {
        let SlotTiming { width, life } = self.timing;
        RuleParams::Slots { capacity: self.capacity, width, life }
    }

    pub(crate) fn width(&self) -> Span {
        self.timing.width
    }

    /// Returns the maximum number of slots of one key, if nothing is charged beyond the capacity.
    pub(crate) fn max_slots(&self) -> u64 {
        self.slots_in_life().min(self.capacity)
    }

    /// Returns the maximum number of slots that count at the same instant.
    pub(crate) fn slots_in_life(&self) -> u64 {
        self.timing.life.steps(self.timing.width).saturating_add(1)
    }
}

impl SlotsState {
    fn new(timing: SlotTiming, start: Time, count: u64) -> SlotsState {
        SlotsState { timing, total: count, slots: List::One(Slot { start, count }) }
    }

    /// Creates a state from these slots, oldest first.
    pub(super) fn of(timing: SlotTiming, slots: Vec<Slot>) -> SlotsState {
        let total = slots.iter().fold(0_u64, |sum, slot| sum.saturating_add(slot.count));
        SlotsState { timing, total, slots: slots.into() }
    }

    fn end_of(&self, slot: &Slot) -> Time {
        slot.start.after(self.timing.life)
    }

    /// Returns the cost that counts at `now`.
    fn used(&self, now: Time) -> u64 {
        let past = self.slots.iter().take_while(|slot| self.end_of(slot) <= now);
        let past =
            past.inspect(|_| walk(1)).fold(0_u64, |sum, slot| sum.saturating_add(slot.count));
        self.total.saturating_sub(past)
    }

    /// Drops the slots that can never count again: no decision is made before the start of the
    /// newest slot. A slot that ended after that is kept, because it counts if the clock steps
    /// back.
    fn drop_ended(&mut self) {
        self.drop_ended_at(Slots::instant(self));
    }

    /// Drops the slots that have ended at this instant, but never the newest.
    fn drop_ended_at(&mut self, instant: Time) {
        while let Some(oldest) = self.slots.first() {
            if self.slots.len() == 1 || self.end_of(oldest) > instant {
                break;
            }
            walk(1);
            self.total = self.total.saturating_sub(oldest.count);
            self.slots.pop_first();
        }
        self.slots.shrink();
    }

    /// Adds to the slot with this start, which need not be the newest.
    fn add(&mut self, start: Time, cost: u64) {
        self.total = self.total.saturating_add(cost);
        let index = self.slots.partition_point(|slot| slot.start < start);
        walk(index.min(self.slots.len().saturating_sub(index)));
        match self.slots.get_mut(index) {
            Some(slot) if slot.start == start => slot.count = slot.count.saturating_add(cost),
            _ => self.slots.insert(index, Slot { start, count: cost }),
        }
    }

    /// Returns whether adding to the slot with this start would exceed the maximum number of slots.
    fn is_full_for(&self, start: Time) -> bool {
        if self.slots.len() < MAX_SLOTS || self.slots.iter().any(|slot| slot.start == start) {
            return false;
        }
        walk(self.slots.len());
        let instant = Slots::instant(self).max(start);
        let ended = self.slots.iter().take_while(|slot| self.end_of(slot) <= instant).count();
        self.slots.len().saturating_sub(ended) >= MAX_SLOTS
    }

    /// Returns the index of the slot that contains `at`.
    fn index_at(&self, at: Time) -> Option<usize> {
        let index = self.slots.partition_point(|slot| slot.start <= at).checked_sub(1)?;
        let slot = self.slots.get(index)?;
        (at < slot.start.after(self.timing.width)).then_some(index)
    }

    /// Removes cost from one slot, and the slot if nothing is left in it. Returns how much was
    /// removed.
    fn remove(&mut self, index: usize, cost: u64) -> u64 {
        let Some(slot) = self.slots.get_mut(index) else {
            return 0;
        };
        let taken = slot.count.min(cost);
        slot.count = slot.count.saturating_sub(taken);
        self.total = self.total.saturating_sub(taken);
        if slot.count == 0 {
            walk(index.min(self.slots.len().saturating_sub(index)));
            self.slots.remove(index);
        }
        taken
    }
}

/// Replaces a state in which nothing counts any more by `None`.
fn normalize(state: &mut Option<SlotsState>, now: Time) {
    match state {
        Some(slots) if slots.used(now) > 0 => slots.drop_ended(),
        _ => *state = None,
    }
}

impl InPlace for Slots {
    fn take_in_place(
        &self,
        state: &mut SlotsState,
        at: Time,
        cost: u64,
        _: Option<Handle>,
    ) -> Option<()> {
        if state.timing != self.timing {
            return None;
        }
        let is_full = state.slots.len() >= MAX_SLOTS;
        let newest = state.slots.last_mut()?;
        if at < newest.start.after(self.timing.width) {
            newest.count = newest.count.saturating_add(cost);
        } else if is_full {
            return None;
        } else {
            let start = at.floor_to(self.timing.width);
            state.slots.push(Slot { start, count: cost });
        }
        state.total = state.total.saturating_add(cost);
        state.drop_ended();
        Some(())
    }
}

impl Counting for Slots {
    type State = SlotsState;

    fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The newest slot counts this long.
    fn full_reset_after(&self) -> Span {
        self.timing.life
    }

    fn instant(state: &SlotsState) -> Time {
        state.slots.last().map_or(Time::EPOCH, |newest| newest.start)
    }

    fn resets_at(state: &SlotsState) -> Time {
        state.slots.last().map_or(Time::EPOCH, |newest| state.end_of(newest))
    }

    fn list_size(state: &SlotsState) -> Option<ListSize> {
        Some(state.slots.size())
    }

    /// A slot that has ended no longer counts if the clock steps back then.
    fn trim(state: &mut SlotsState, now: Time) {
        state.drop_ended_at(now.max(Slots::instant(state)));
    }

    fn headroom(&self, state: &SlotsState, now: Time) -> Option<u64> {
        self.capacity.checked_sub(state.used(now))
    }

    fn fits_at(&self, state: &SlotsState, _: Time, cost: u64) -> Time {
        let room = self.capacity.saturating_sub(cost);
        let mut used = state.total;
        for slot in state.slots.iter() {
            walk(1);
            used = used.saturating_sub(slot.count);
            if used <= room {
                return state.end_of(slot);
            }
        }
        Slots::resets_at(state)
    }

    /// If the slots were changed, all that still counts moves into the current slot.
    fn take(
        &self,
        state: &mut Option<SlotsState>,
        now: Time,
        cost: u64,
        _: Option<Handle>,
    ) -> Result<(), Overdrawn> {
        let used = state.as_ref().map_or(0, |state| state.used(now));
        let total = used.saturating_add(cost);
        if total > MAX_COUNT {
            return Err(Overdrawn);
        }
        let start = now.floor_to(self.timing.width);
        match state {
            Some(state) if state.timing == self.timing => {
                if state.is_full_for(start) {
                    return Err(Overdrawn);
                }
                state.add(start, cost);
                state.drop_ended();
            }
            _ => *state = Some(SlotsState::new(self.timing, start, total)),
        }
        Ok(())
    }

    fn refund(&self, state: &mut Option<SlotsState>, now: Time, cost: u64) {
        let Some(slots) = state else { return };
        let mut left = cost.min(slots.used(now));
        while let (1.., Some(newest)) = (left, slots.slots.len().checked_sub(1)) {
            walk(1);
            left = left.saturating_sub(slots.remove(newest, left));
        }
        normalize(state, now);
    }

    fn refundable(&self, state: &SlotsState, now: Time, taken: Taken) -> u64 {
        let slot = state.index_at(taken.at).and_then(|index| state.slots.get(index));
        slot.filter(|slot| now < state.end_of(slot)).map_or(0, |slot| slot.count)
    }

    fn overlap(&self, cost: u64, taken: Taken, other: Taken) -> u64 {
        let slot = |taken: Taken| taken.at.floor_to(self.timing.width);
        if slot(taken) == slot(other) { cost } else { 0 }
    }

    fn refund_at(
        &self,
        state: &mut Option<SlotsState>,
        now: Time,
        cost: u64,
        taken: Taken,
    ) -> bool {
        let Some(slots) = state else { return false };
        if let Some(index) = slots.index_at(taken.at) {
            slots.remove(index, cost);
        }
        normalize(state, now);
        true
    }

    fn charge_at(
        &self,
        state: &mut Option<SlotsState>,
        now: Time,
        cost: u64,
        taken: Taken,
    ) -> Result<bool, Overdrawn> {
        let start = taken.at.floor_to(self.timing.width);
        if start.after(self.timing.life) <= now {
            return Ok(false);
        }
        match state {
            Some(slots) if slots.timing == self.timing => {
                let used = slots.used(now).saturating_add(cost);
                if used > MAX_COUNT || slots.is_full_for(start) {
                    return Err(Overdrawn);
                }
                slots.add(start, cost);
                slots.drop_ended();
                Ok(true)
            }
            None => self.take(state, taken.at, cost, Some(taken.handle)).map(|()| true),
            Some(_) => self.take(state, now, cost, Some(taken.handle)).map(|()| true),
        }
    }
}

/// A state of one slot fits in words, as most keys have no more.
impl Pack for Slots {
    type Terms = SlotTiming;

    fn terms(&self) -> SlotTiming {
        self.timing
    }

    fn is_small(state: &SlotsState) -> bool {
        state.slots.len() == 1
    }

    fn pack(state: &SlotsState) -> (SlotTiming, Words) {
        let start = state.slots.first().map_or(0, |slot| slot.start.as_micros());
        (state.timing, [state.total, start, 0])
    }

    fn unpack(timing: SlotTiming, [count, start, _]: Words) -> Option<SlotsState> {
        Some(SlotsState::new(timing, Time::at(start), count))
    }
}
