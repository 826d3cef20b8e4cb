//! Seven rules of counting: the only place where limits become decisions.
//!
//! A rule is a pure function of the numbers of a limit, a state, an instant and an operation. The
//! ten names that people write parse into these seven, and [`Counting`] is what each of them must
//! answer; everything the laws demand of all of them alike is written once, in [`Entry`].
//!
//! **A state describes itself.** It carries the numbers it was written under and goes on sinking,
//! sliding or fading by them until an operation writes it anew. The limit that asks lends only its
//! capacity. So a limit can be changed at any time: what is used stays used, every answer given
//! from an old state is still exact, and the next write moves it over.

mod bytes;
mod calendar;
mod capacity;
mod drip;
mod entry;
mod estimate;
mod fade;
mod flow;
mod held;
mod packed;
mod slots;
mod window;

pub(crate) use calendar::{Calendar, CalendarUnit};
pub use capacity::Capacity;
pub(crate) use drip::Drip;
pub(crate) use entry::{Command, Entry};
pub use entry::{MAX_RESERVATIONS, RESERVATION_TTL};
use entry::{answer, fits};
pub(crate) use estimate::Estimate;
pub(crate) use fade::Fade;
pub(crate) use flow::Flow;
pub(crate) use held::Held;
pub use packed::{Checked, Packed, Terms};
pub(crate) use slots::Slots;
pub(crate) use window::{Alignment, Window};

use crate::act::Act;
use crate::decision::LimitStatus;
use crate::error::Overdrawn;
use crate::time::{Span, Time};

/// The most that any counter or level may hold. Whole numbers up to here, and the sum of two, are
/// exact in a double, which is what the Redis scripts count in.
pub const MAX_COUNT: u64 = (1 << 52) - 1;

/// What leases and reservations are found under: an id, and whose it is.
pub(crate) type Handle<'a> = &'a [u8];

/// Something that was taken earlier: how much, when, and under which handle.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taken<'a> {
    pub(crate) cost: u64,
    pub(crate) at: Time,
    pub(crate) handle: Handle<'a>,
}

/// What a rule must be able to tell of its state, and do to it.
///
/// `now` is never before the state's own [`instant`](Counting::instant), and a body that is handed
/// over is alive: `now` lies before it [resets](Counting::resets). `None` is a key never seen. A
/// body always counts something; a rule that is left with nothing leaves `None`.
pub(crate) trait Counting {
    /// The state, with the numbers it was written under.
    type Body: RuleState;

    /// The most that can be used at one instant.
    fn capacity(&self) -> u64;

    /// How long a full key takes to reset, at most.
    fn full_reset_after(&self) -> Span;

    /// The instant the state implies; decisions are made no earlier (law 6).
    fn instant(body: &Self::Body) -> Time;

    /// From when on the state is as good as none (law 5).
    fn resets(body: &Self::Body) -> Time;

    /// How much more fits; `None` in debt.
    fn headroom(&self, body: &Self::Body, now: Time) -> Option<u64>;

    /// The first instant when `cost` fits. Asked only when it does not fit now but can.
    fn fits_at(&self, body: &Self::Body, now: Time, cost: u64) -> Time;

    /// Adds the cost, whatever the capacity.
    fn take(
        &self,
        body: &mut Option<Self::Body>,
        now: Time,
        cost: u64,
        handle: Option<Handle<'_>>,
    ) -> Result<(), Overdrawn>;

    /// Gives back the newest cost.
    fn give(&self, body: &mut Option<Self::Body>, now: Time, cost: u64);

    /// How much could still be given back of what was taken earlier.
    fn refundable(&self, body: &Self::Body, now: Time, taken: Taken<'_>) -> u64;

    /// By how much less there would have been of what `other` was taken from, had `taken` been less
    /// by `cost`. All of it, where all water is alike.
    fn overlap(&self, cost: u64, _taken: Taken<'_>, _other: Taken<'_>) -> u64 {
        cost
    }

    /// Gives back what was taken earlier; at most as much as [`refundable`](Counting::refundable) says.
    /// Answers whether that made a difference. The newest will do where all water is alike.
    fn give_back(&self, body: &mut Option<Self::Body>, now: Time, cost: u64, _: Taken<'_>) -> bool {
        self.give(body, now, cost);
        true
    }

    /// Adds a cost as if it had been taken earlier, or stricter; whether that still counts.
    ///
    /// Taken now, unless a rule knows better. A bucket does not remember how long it has stood
    /// empty since, and would have sunk no more had it held more, so that is as strict or stricter.
    fn charge_at(
        &self,
        body: &mut Option<Self::Body>,
        now: Time,
        cost: u64,
        taken: Taken<'_>,
    ) -> Result<bool, Overdrawn> {
        self.take(body, now, cost, Some(taken.handle)).map(|()| true)
    }

    /// Ends what is held under the handle; whether anything was.
    fn release(&self, _body: &mut Option<Self::Body>, _now: Time, _handle: Handle<'_>) -> bool {
        false
    }

    /// Keeps alive what is held under the handle; whether anything is.
    fn renew(&self, _body: &mut Option<Self::Body>, _now: Time, _handle: Handle<'_>) -> bool {
        false
    }
}

/// A body that is kept in a [`State`], and told from those of other rules.
pub(crate) trait RuleState: Clone {
    fn find(state: &State) -> Option<&Entry<Self>>;
    fn find_mut(state: &mut State) -> Option<&mut Entry<Self>>;
    fn into_state(entry: Entry<Self>) -> State;
}

/// Draws up the rules, their states, and how one is found for the other.
macro_rules! rules {
    ($($kind:ident => $body:path),* $(,)?) => {
        /// A rule with its numbers.
        #[derive(Debug, Clone, PartialEq)]
        pub(crate) enum Rule {
            $($kind($kind),)*
            Unlimited,
        }

        #[derive(Debug, Clone)]
        enum AnyEntry {
            $($kind(Entry<$body>),)*
        }

        $(impl RuleState for $body {
            fn find(state: &State) -> Option<&Entry<Self>> {
                if let AnyEntry::$kind(entry) = &state.0 { Some(entry) } else { None }
            }

            fn find_mut(state: &mut State) -> Option<&mut Entry<Self>> {
                if let AnyEntry::$kind(entry) = &mut state.0 { Some(entry) } else { None }
            }

            fn into_state(entry: Entry<Self>) -> State {
                State(AnyEntry::$kind(entry))
            }
        })*

        impl State {
            /// From when on nothing can tell this state from none, so that it may be dropped.
            #[must_use]
            pub fn expires(&self) -> Time {
                match &self.0 {
                    $(AnyEntry::$kind(entry) => entry.expires::<$kind>(),)*
                }
            }
        }
    };
}

rules! {
    Flow => flow::FlowState,
    Drip => drip::DripState,
    Window => window::WindowState,
    Slots => slots::SlotsState,
    Estimate => estimate::EstimateState,
    Fade => fade::FadeState,
    Held => held::HeldState,
}

/// Does the same with whichever rule it is.
macro_rules! each {
    ($rule:expr, $one:ident => $do:expr, unlimited => $unlimited:expr) => {
        match $rule {
            Rule::Flow($one) => $do,
            Rule::Drip($one) => $do,
            Rule::Window($one) => $do,
            Rule::Slots($one) => $do,
            Rule::Estimate($one) => $do,
            Rule::Fade($one) => $do,
            Rule::Held($one) => $do,
            Rule::Unlimited => $unlimited,
        }
    };
}

/// What is known of one subject under one limit. Opaque: no state leaves its store.
#[derive(Debug, Clone)]
pub struct State(AnyEntry);

/// The body of a state. One of another rule is none: a limit whose rule was changed starts afresh.
fn body<'s, R: Counting>(_: &R, state: Option<&'s State>) -> Option<&'s R::Body> {
    state.and_then(R::Body::find).and_then(Entry::body)
}

/// A number of a state, in bytes.
const NUMBER: u64 = 8;

impl Rule {
    pub(crate) fn capacity(&self) -> Option<u64> {
        each!(self, rule => Some(rule.capacity()), unlimited => None)
    }

    /// How long a full key takes to reset, at most.
    pub(crate) fn full_reset_after(&self) -> Option<Span> {
        each!(self, rule => Some(rule.full_reset_after()), unlimited => None)
    }

    /// How long a lease lasts, if that is what it gives.
    pub(crate) fn ttl(&self) -> Option<Span> {
        if let Rule::Held(held) = self { Some(held.full_reset_after()) } else { None }
    }

    /// The least and the most bytes of numbers that one used key needs.
    pub(crate) fn state_bytes(&self) -> Option<(u64, u64)> {
        let (least, most) = match self {
            Rule::Flow(_) => (1, 2),
            Rule::Drip(_) | Rule::Window(_) | Rule::Fade(_) => (2, 2),
            Rule::Estimate(_) => (3, 3),
            Rule::Slots(rule) => (2, rule.most_slots().saturating_mul(2)),
            Rule::Held(rule) => (2, rule.capacity().saturating_mul(2)),
            Rule::Unlimited => return None,
        };
        Some((NUMBER.saturating_mul(least), NUMBER.saturating_mul(most)))
    }

    /// Whether a check of this cost would pass.
    pub(crate) fn fits(&self, state: Option<&State>, now: Time, cost: u64) -> bool {
        each!(self, rule => fits(rule, body(rule, state), now, cost), unlimited => true)
    }

    /// The numbers of the state, for a check of this cost.
    pub(crate) fn answer(&self, state: Option<&State>, now: Time, cost: u64) -> LimitStatus {
        each!(self, rule => answer(rule, body(rule, state), now, cost),
            unlimited => LimitStatus::UNLIMITED)
    }

    /// Does what was ordered; whether it took or gave anything.
    ///
    /// # Errors
    /// If the debt would be too large. The state is then as it was.
    pub(crate) fn apply(
        &self,
        state: &mut Option<State>,
        command: &Command<'_>,
    ) -> Result<bool, Overdrawn> {
        each!(self, rule => apply(rule, state, command), unlimited => Ok(forget(state, command)))
    }
}

/// A limit that is switched off counts nothing, but a reset forgets what it counted before.
fn forget(state: &mut Option<State>, command: &Command<'_>) -> bool {
    if command.act == Act::Reset {
        *state = None;
    }
    false
}

fn apply<R: Counting>(
    rule: &R,
    state: &mut Option<State>,
    command: &Command<'_>,
) -> Result<bool, Overdrawn> {
    if let Some(entry) = state.as_mut().and_then(R::Body::find_mut) {
        let changed = entry.apply(rule, command);
        if entry.is_empty() {
            *state = None;
        }
        return changed;
    }
    let mut entry = Entry::default();
    let changed = entry.apply(rule, command);
    // What another rule left behind goes when there is something to put in its place.
    if !entry.is_empty() || command.act == Act::Reset {
        *state = (!entry.is_empty()).then(|| R::Body::into_state(entry));
    }
    changed
}
