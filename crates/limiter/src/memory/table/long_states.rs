//! States of more than three words. They share one allocation, since there is no space for more in a shard.

use tollgate_core::Time;
use tollgate_core::storage::{Footprint, State};

use super::account::Account;
use super::lone_leases::LoneLeases;
use super::memory_budget::{Growth, MemoryBudget};
use super::whole_states::{self, WholeStates};
use crate::memory::shares::Shares;

#[derive(Default)]
pub(super) struct LongStates {
    pub(super) lone: LoneLeases,
    /// Several leases of a key, or one with reservations. Their places count as leases.
    several: WholeStates,
    /// Any others. Their places count as tables.
    others: WholeStates,
}

impl LongStates {
    pub(super) fn is_empty(&self) -> bool {
        self.lone.slots() == 0 && self.several.is_empty() && self.others.is_empty()
    }

    pub(super) fn has_whole(&self, fingerprint: u64) -> bool {
        self.several.has(fingerprint) || self.others.has(fingerprint)
    }

    /// Returns a state that is not packed. A rule that was changed has made some of leases where they are not looked for
    /// first.
    pub(super) fn whole_state(&self, fingerprint: u64) -> Option<&State> {
        let found = self.several.get(fingerprint).or_else(|| self.others.get(fingerprint));
        found.map(|(state, _)| state)
    }

    /// Returns the collection that has such a state that is not packed.
    pub(super) fn whole_with(&mut self, fingerprint: u64) -> Option<&mut WholeStates> {
        let wholes = [&mut self.several, &mut self.others];
        wholes.into_iter().find(|whole| whole.has(fingerprint))
    }

    /// Inserts a state that is not packed. Returns the number of others that were dropped meanwhile because they had
    /// reset.
    pub(super) fn insert_whole(
        &mut self,
        fingerprint: u64,
        state: State,
        account: Account,
        memory: &MemoryBudget,
        horizon: Time,
    ) -> usize {
        let places = self.several.places();
        let whole = if state.is_of_leases() { &mut self.several } else { &mut self.others };
        let dropped = whole.insert(fingerprint, state, account, memory, horizon);
        self.count_places(places, memory);
        dropped
    }

    /// Drops all states that have reset, and what has ended in others. Gives memory back. Returns how many states were
    /// dropped.
    pub(super) fn sweep_all(&mut self, memory: &MemoryBudget, now: Time) -> usize {
        let places = self.several.places();
        self.lone.shrink();
        let swept = [&mut self.several, &mut self.others].map(|whole| whole.sweep_all(memory, now));
        self.count_places(places, memory);
        swept.iter().sum()
    }

    /// Counts the change of the places of states with several leases.
    fn count_places(&self, before: usize, memory: &MemoryBudget) {
        memory.count_lists(Shares::NONE, of_leases(self.several.places().wrapping_sub(before)));
    }

    /// Returns the memory of its tables.
    pub(super) fn tables(&self) -> usize {
        self.lone.bytes().wrapping_add(self.others.places())
    }

    /// Returns the memory of the lists of the states, and of the places that count with them.
    pub(super) fn lists(&self) -> Footprint {
        let places = of_leases(self.several.places());
        self.several.lists().plus(self.others.lists()).plus(places)
    }

    /// Returns what the [lists](LongStates::lists) are made of, each with its share.
    #[cfg(test)]
    pub(super) fn footprints(&self) -> impl Iterator<Item = (u16, Footprint)> {
        let places = (Shares::NONE, of_leases(self.several.places()));
        self.several.footprints().chain(self.others.footprints()).chain([places])
    }

    /// Returns how much more so many more lone leases take.
    pub(super) fn growth_of_lone(long: Option<&LongStates>, more: u32) -> usize {
        let first = || LoneLeases::default().max_growth(more);
        long.map_or_else(first, |long| long.lone.max_growth(more))
    }

    /// As [`growth_of_lone`](LongStates::growth_of_lone), for states with several leases.
    pub(super) fn growth_of_several(long: Option<&LongStates>, more: u32) -> Growth {
        of_leases(growth_of(long.map(|long| &long.several), more)).into()
    }

    /// As [`growth_of_lone`](LongStates::growth_of_lone), for all others that are not packed.
    pub(super) fn growth_of_others(long: Option<&LongStates>, more: u32) -> usize {
        growth_of(long.map(|long| &long.others), more)
    }

    /// Iterates over the states that are not packed.
    pub(super) fn whole(&self) -> impl Iterator<Item = (u64, &State)> {
        self.several.iter().chain(self.others.iter())
    }
}

fn of_leases(leases: usize) -> Footprint {
    Footprint { leases, ..Footprint::default() }
}

fn growth_of(whole: Option<&WholeStates>, more: u32) -> usize {
    whole.map_or(whole_states::first_growth(), |whole| whole.max_growth(more))
}
