//! The state of any rule, as a store keeps it.

use super::drip::{Drip, DripState};
use super::entry::Entry;
use super::estimate::{Estimate, EstimateState};
use super::fade::{Fade, FadeState};
use super::flow::{Flow, FlowState};
use super::footprint::{Footprint, ListSize};
use super::held::{Held, HeldState, Lease};
use super::reservation::Reservation;
use super::slots::{Slot, Slots, SlotsState};
use super::window::{Window, WindowState};
use crate::act::Act;
use crate::time::Time;

/// The state of one subject under one limit, with its open reservations.
///
/// It is opaque: only [`decide`](crate::storage::decide) reads and changes it.
#[derive(Debug, Clone)]
pub struct State(pub(super) AnyEntry);

/// The state of one rule, as a variant of [`State`].
pub(super) trait RuleState: Sized {
    fn find(state: &State) -> Option<&Entry<Self>>;
    fn find_mut(state: &mut State) -> Option<&mut Entry<Self>>;
    fn into_state(entry: Entry<Self>) -> State;
}

/// Declares the variants of [`State`] and the conversions from and to each rule's own state.
macro_rules! states {
    ($($rule:ident => $state:ident),* $(,)?) => {
        #[derive(Debug, Clone)]
        pub(super) enum AnyEntry {
            $($rule(Entry<$state>),)*
        }

        $(impl RuleState for $state {
            fn find(state: &State) -> Option<&Entry<Self>> {
                if let AnyEntry::$rule(entry) = &state.0 { Some(entry) } else { None }
            }

            fn find_mut(state: &mut State) -> Option<&mut Entry<Self>> {
                if let AnyEntry::$rule(entry) = &mut state.0 { Some(entry) } else { None }
            }

            fn into_state(entry: Entry<Self>) -> State {
                State(AnyEntry::$rule(entry))
            }
        })*

        impl State {
            /// Returns the instant from which the state counts as absent, so that it may be
            /// dropped.
            #[must_use]
            pub fn expires(&self) -> Time {
                match &self.0 {
                    $(AnyEntry::$rule(entry) => entry.expires::<$rule>(),)*
                }
            }

            /// Returns the memory of its slots, leases and open reservations.
            #[must_use]
            pub fn footprint(&self) -> Footprint {
                match &self.0 {
                    $(AnyEntry::$rule(entry) => entry.footprint::<$rule>(),)*
                }
            }

            /// Returns how much more memory these may take after such an operation on a state.
            #[must_use]
            pub fn max_growth(state: Option<&State>, act: Act) -> Footprint {
                let Some(state) = state else { return max_growth_of_none(act) };
                match &state.0 {
                    $(AnyEntry::$rule(entry) => entry.max_growth::<$rule>(act),)*
                }
            }

            /// Drops slots, leases and reservations that have ended, and the room for them.
            pub fn trim(&mut self, now: Time) {
                match &mut self.0 {
                    $(AnyEntry::$rule(entry) => entry.trim::<$rule>(now),)*
                }
            }
        }
    };
}

/// Whatever its rule will be.
fn max_growth_of_none(act: Act) -> Footprint {
    let growth = Footprint {
        slots: ListSize::of_none::<Slot>().max_growth(),
        leases: ListSize::of_none::<Lease>().max_growth(),
        reservations: ListSize::of_none::<Reservation>().max_growth(),
    };
    growth.that_grows_by(act)
}

states! {
    Flow => FlowState,
    Drip => DripState,
    Window => WindowState,
    Slots => SlotsState,
    Estimate => EstimateState,
    Fade => FadeState,
    Held => HeldState,
}
