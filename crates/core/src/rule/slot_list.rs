//! The slots of one key: one in place, as most keys have, or several in a list.

use std::collections::VecDeque;
use std::{fmt, slice};

use super::footprint::{ListSize, MIN_ROOM};
use crate::time::Time;

/// A slot and what is counted in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    pub(super) start: Time,
    pub(super) count: u64,
}

/// Slots in their order, oldest first.
#[derive(Clone)]
pub(super) enum SlotList {
    One(Slot),
    /// Any number of them.
    Many(VecDeque<Slot>),
}

impl fmt::Debug for SlotList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl From<Vec<Slot>> for SlotList {
    fn from(slots: Vec<Slot>) -> SlotList {
        match slots.as_slice() {
            [slot] => SlotList::One(*slot),
            _ => SlotList::Many(slots.into()),
        }
    }
}

impl SlotList {
    pub(super) fn len(&self) -> usize {
        match self {
            SlotList::One(_) => 1,
            SlotList::Many(slots) => slots.len(),
        }
    }

    /// Returns the memory of the list.
    pub(super) fn size(&self) -> ListSize {
        match self {
            SlotList::One(_) => ListSize::of_none::<Slot>(),
            SlotList::Many(slots) => ListSize::of_deque(slots),
        }
    }

    /// Gives back the room that it has far too much of.
    pub(super) fn shrink(&mut self) {
        if let SlotList::Many(slots) = self
            && let Some(capacity) = ListSize::of_deque(slots).shrunk()
        {
            slots.shrink_to(capacity);
        }
    }

    pub(super) fn get(&self, index: usize) -> Option<&Slot> {
        match self {
            SlotList::One(slot) => (index == 0).then_some(slot),
            SlotList::Many(slots) => slots.get(index),
        }
    }

    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut Slot> {
        match self {
            SlotList::One(slot) => (index == 0).then_some(slot),
            SlotList::Many(slots) => slots.get_mut(index),
        }
    }

    pub(super) fn oldest(&self) -> Option<&Slot> {
        self.get(0)
    }

    pub(super) fn newest(&self) -> Option<&Slot> {
        self.get(self.len().checked_sub(1)?)
    }

    pub(super) fn newest_mut(&mut self) -> Option<&mut Slot> {
        self.get_mut(self.len().checked_sub(1)?)
    }

    /// Returns how many slots begin before all of those for which this is false.
    pub(super) fn partition_point(&self, is_before: impl Fn(&Slot) -> bool) -> usize {
        match self {
            SlotList::One(slot) => usize::from(is_before(slot)),
            SlotList::Many(slots) => slots.partition_point(is_before),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Slot> {
        let (first, second) = match self {
            SlotList::One(slot) => (slice::from_ref(slot), &[][..]),
            SlotList::Many(slots) => slots.as_slices(),
        };
        first.iter().chain(second)
    }

    pub(super) fn insert(&mut self, index: usize, slot: Slot) {
        self.change(|slots| slots.insert(index, slot));
    }

    pub(super) fn push(&mut self, newest: Slot) {
        self.change(|slots| slots.push_back(newest));
    }

    pub(super) fn remove(&mut self, index: usize) {
        self.change(|slots| {
            slots.remove(index);
        });
    }

    pub(super) fn pop_oldest(&mut self) {
        self.change(|slots| {
            slots.pop_front();
        });
    }

    /// Changes the number of slots. From then on they are a list.
    fn change(&mut self, change: impl FnOnce(&mut VecDeque<Slot>)) {
        if let SlotList::One(slot) = *self {
            let mut slots = VecDeque::with_capacity(MIN_ROOM);
            slots.push_back(slot);
            *self = SlotList::Many(slots);
        }
        if let SlotList::Many(slots) = self {
            change(slots);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(list: &SlotList) -> Vec<u64> {
        list.iter().map(|slot| slot.start.as_micros()).collect()
    }

    #[test]
    fn one_slot_becomes_a_list_and_stays_in_order() {
        let slot = |start| Slot { start: Time::at(start), count: 1 };
        let mut list = SlotList::from(vec![slot(2)]);
        assert_eq!((list.len(), list.size().bytes(), starts(&list)), (1, 0, vec![2]));
        list.push(slot(4));
        list.insert(0, slot(1));
        assert_eq!((list.partition_point(|slot| slot.start < Time::at(3)), list.len()), (2, 3));
        assert_eq!(starts(&list), [1, 2, 4]);
        assert_eq!(list.newest().map(|slot| slot.start), Some(Time::at(4)));
        list.remove(1);
        list.pop_oldest();
        assert_eq!(starts(&list), [4]);
        list.remove(0);
        assert_eq!((list.len(), list.oldest().is_none()), (0, true));
    }
}
