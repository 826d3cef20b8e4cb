//! The slots or the leases of one key: one in place, as most keys have, or several in a list.

use std::collections::VecDeque;
use std::{fmt, slice};

use super::footprint::{ListSize, MIN_ROOM};

/// Elements in their order.
#[derive(Clone)]
pub(super) enum List<T> {
    One(T),
    /// Any number of them.
    Many(VecDeque<T>),
}

impl<T: fmt::Debug> fmt::Debug for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T> From<Vec<T>> for List<T> {
    fn from(mut elements: Vec<T>) -> List<T> {
        match elements.pop() {
            Some(only) if elements.is_empty() => List::One(only),
            last => {
                elements.extend(last);
                List::Many(elements.into())
            }
        }
    }
}

impl<T> List<T> {
    pub(super) fn len(&self) -> usize {
        match self {
            List::One(_) => 1,
            List::Many(elements) => elements.len(),
        }
    }

    /// Returns the memory of the list.
    pub(super) fn size(&self) -> ListSize {
        match self {
            List::One(_) => ListSize::of_none::<T>(),
            List::Many(elements) => ListSize::of_deque(elements),
        }
    }

    /// Gives back the room that it has far too much of.
    pub(super) fn shrink(&mut self) {
        if let List::Many(elements) = self
            && let Some(capacity) = ListSize::of_deque(elements).shrunk()
        {
            elements.shrink_to(capacity);
        }
    }

    pub(super) fn get(&self, index: usize) -> Option<&T> {
        match self {
            List::One(element) => (index == 0).then_some(element),
            List::Many(elements) => elements.get(index),
        }
    }

    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        match self {
            List::One(element) => (index == 0).then_some(element),
            List::Many(elements) => elements.get_mut(index),
        }
    }

    pub(super) fn first(&self) -> Option<&T> {
        self.get(0)
    }

    pub(super) fn last(&self) -> Option<&T> {
        self.get(self.len().checked_sub(1)?)
    }

    pub(super) fn last_mut(&mut self) -> Option<&mut T> {
        self.get_mut(self.len().checked_sub(1)?)
    }

    /// Returns how many elements come before all of those for which this is false.
    pub(super) fn partition_point(&self, is_before: impl Fn(&T) -> bool) -> usize {
        match self {
            List::One(element) => usize::from(is_before(element)),
            List::Many(elements) => elements.partition_point(is_before),
        }
    }

    /// Returns all elements, in two parts.
    fn as_slices(&self) -> (&[T], &[T]) {
        match self {
            List::One(element) => (slice::from_ref(element), &[]),
            List::Many(elements) => elements.as_slices(),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        let (first, second) = self.as_slices();
        first.iter().chain(second)
    }

    pub(super) fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut T> {
        let (first, second) = match self {
            List::One(element) => (slice::from_mut(element), &mut [][..]),
            List::Many(elements) => elements.as_mut_slices(),
        };
        first.iter_mut().chain(second)
    }

    /// Iterates over the elements from this index on.
    pub(super) fn iter_from(&self, index: usize) -> impl Iterator<Item = &T> {
        let (first, second) = self.as_slices();
        let left = index.saturating_sub(first.len());
        let (first, second) = (first.get(index..), second.get(left..));
        first.unwrap_or_default().iter().chain(second.unwrap_or_default())
    }

    pub(super) fn insert(&mut self, index: usize, element: T) {
        self.change(|elements| elements.insert(index, element));
    }

    pub(super) fn push(&mut self, last: T) {
        self.change(|elements| elements.push_back(last));
    }

    pub(super) fn remove(&mut self, index: usize) {
        self.change(|elements| {
            elements.remove(index);
        });
    }

    pub(super) fn pop_first(&mut self) {
        self.change(|elements| {
            elements.pop_front();
        });
    }

    pub(super) fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        match self {
            List::One(element) if keep(element) => {}
            List::One(_) => *self = List::Many(VecDeque::new()),
            List::Many(elements) => elements.retain(keep),
        }
    }

    /// Changes the number of elements. From then on they are a list.
    fn change(&mut self, change: impl FnOnce(&mut VecDeque<T>)) {
        if let List::One(_) = self {
            let one = std::mem::replace(self, List::Many(VecDeque::with_capacity(MIN_ROOM)));
            if let (List::One(element), List::Many(elements)) = (one, &mut *self) {
                elements.push_back(element);
            }
        }
        if let List::Many(elements) = self {
            change(elements);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(list: &List<u64>) -> Vec<u64> {
        list.iter().copied().collect()
    }

    #[test]
    fn one_element_becomes_a_list_and_stays_in_order() {
        let mut list = List::from(vec![2]);
        assert_eq!((list.len(), list.size().bytes(), all(&list)), (1, 0, vec![2]));
        list.push(4);
        list.insert(0, 1);
        assert_eq!((list.partition_point(|element| *element < 3), list.len()), (2, 3));
        assert_eq!(all(&list), [1, 2, 4]);
        assert_eq!(list.last(), Some(&4));
        for from in 0..5 {
            let expected: Vec<u64> = all(&list).into_iter().skip(from).collect();
            assert_eq!(list.iter_from(from).copied().collect::<Vec<u64>>(), expected);
        }
        list.remove(1);
        list.pop_first();
        assert_eq!(all(&list), [4]);
        list.remove(0);
        assert_eq!((list.len(), list.first()), (0, None));
    }

    #[test]
    fn one_element_is_changed_where_it_lies() {
        let mut list = List::from(vec![2]);
        list.iter_mut().for_each(|element| *element += 1);
        list.retain(|element| *element == 3);
        assert!(matches!(list, List::One(3)));
        assert_eq!((list.iter_from(0).count(), list.iter_from(1).count()), (1, 0));
        list.retain(|element| *element == 4);
        assert_eq!((list.len(), list.size().bytes()), (0, 0));
    }
}
