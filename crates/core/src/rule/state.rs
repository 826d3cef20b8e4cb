//! The state of any rule, as a store keeps it.

use super::drip::{Drip, DripState};
use super::entry::Entry;
use super::estimate::{Estimate, EstimateState};
use super::fade::{Fade, FadeState};
use super::flow::{Flow, FlowState};
use super::held::{Held, HeldState};
use super::slots::{Slots, SlotsState};
use super::window::{Window, WindowState};
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
        }
    };
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
