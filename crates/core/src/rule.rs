//! Seven rules of counting, one file each.
//!
//! A rule is a pure function of the numbers of a limit, a state, an instant and an operation. The
//! names that people write in a limit line map to these seven, [`Counting`] is what each of them
//! implements, and what the laws demand of all of them is in [`entry`].
//!
//! **A state describes itself.** It carries the numbers it was written under and goes on draining,
//! sliding or decaying by them until an operation writes it anew. The limit that reads it
//! contributes only its capacity. So a limit can be changed at any time: what is used stays used,
//! every decision from an old state is still exact, and the next write converts it.

mod bytes;
mod calendar;
mod capacity;
mod counting;
mod drip;
mod entry;
mod estimate;
mod fade;
mod flow;
mod footprint;
mod handle;
mod held;
mod in_place;
mod list;
mod lone_lease;
mod pack;
mod packed;
mod params;
mod reservation;
mod slots;
mod state;
mod status;
mod terms;
mod window;

pub(crate) use calendar::{Calendar, CalendarUnit};
pub use capacity::Capacity;
pub(crate) use counting::Counting;
pub use counting::{MAX_COUNT, MAX_ENTRIES};
pub(crate) use drip::Drip;
pub(crate) use entry::Command;
pub(crate) use estimate::Estimate;
pub(crate) use fade::Fade;
pub use fade::{FADE_DECAY, FADE_FLOOR};
pub(crate) use flow::Flow;
pub use footprint::Footprint;
pub use handle::Handle;
pub(crate) use held::Held;
pub use packed::{Packed, PackedOutcome};
pub use params::RuleParams;
pub use reservation::{MAX_RESERVATIONS, RESERVATION_TTL};
pub use slots::MAX_SLOTS;
pub(crate) use slots::Slots;
pub use state::State;
pub use terms::Terms;
pub(crate) use window::{Alignment, Window};

use counting::Taken;
use entry::Entry;
use pack::Pack;
use state::RuleState;

use crate::act::Act;
use crate::decision::{Decision, LimitStatus};
use crate::error::Overdrawn;
use crate::time::{Span, Time};

/// A rule with its numbers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Rule {
    Flow(Flow),
    Drip(Drip),
    Window(Window),
    Slots(Slots),
    Estimate(Estimate),
    Fade(Fade),
    Held(Held),
    Unlimited,
}

/// Evaluates the same expression for any rule.
macro_rules! for_rule {
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

/// Evaluates the same expression for any rule whose states can be packed, at least some of them.
macro_rules! for_packed_rule {
    ($rule:expr, $one:ident => $do:expr, others => $others:expr) => {
        match $rule {
            Rule::Flow($one) => $do,
            Rule::Drip($one) => $do,
            Rule::Window($one) => $do,
            Rule::Slots($one) => $do,
            Rule::Estimate($one) => $do,
            Rule::Fade($one) => $do,
            Rule::Held(_) | Rule::Unlimited => $others,
        }
    };
}

/// Bytes of one number in a state.
const NUMBER_BYTES: u64 = 8;

impl Rule {
    pub(crate) fn capacity(&self) -> Option<u64> {
        for_rule!(self, rule => Some(rule.capacity()), unlimited => None)
    }

    /// Returns the capacity, which need not be whole for ar1.
    pub(crate) fn exact_capacity(&self) -> Capacity {
        match self {
            Rule::Fade(fade) => Capacity::of_level(fade.max()),
            other => Capacity::of_count(other.capacity()),
        }
    }

    /// Returns the longest time a full key takes to reset.
    pub(crate) fn full_reset_after(&self) -> Option<Span> {
        for_rule!(self, rule => Some(rule.full_reset_after()), unlimited => None)
    }

    /// Returns whether it gives leases.
    pub(crate) fn gives_leases(&self) -> bool {
        matches!(self, Rule::Held(_))
    }

    /// Returns the minimum and maximum bytes of numbers that one used key needs.
    pub(crate) fn state_bytes(&self) -> Option<(u64, u64)> {
        let (min, max) = match self {
            Rule::Flow(_) => (1, 2),
            Rule::Drip(_) | Rule::Window(_) | Rule::Fade(_) => (2, 2),
            Rule::Estimate(_) => (3, 3),
            Rule::Slots(rule) => (2, rule.max_slots().saturating_mul(2)),
            Rule::Held(rule) => (2, rule.capacity().saturating_mul(2)),
            Rule::Unlimited => return None,
        };
        Some((NUMBER_BYTES.saturating_mul(min), NUMBER_BYTES.saturating_mul(max)))
    }

    pub(crate) fn params(&self) -> RuleParams {
        for_rule!(self, rule => rule.params(), unlimited => RuleParams::Unlimited)
    }

    /// Returns whether a check of this cost would be allowed.
    pub(crate) fn fits(&self, stored: Option<&State>, now: Time, cost: u64) -> bool {
        for_rule!(self, rule => status::fits(rule, own_state(rule, stored), now, cost),
            unlimited => true)
    }

    /// Returns the numbers of the state, for a check of this cost.
    pub(crate) fn status(&self, stored: Option<&State>, now: Time, cost: u64) -> LimitStatus {
        for_rule!(self, rule => status::status(rule, own_state(rule, stored), now, cost),
            unlimited => LimitStatus::UNLIMITED)
    }

    /// Returns whether an operation finds what it acts on under the handle; `None` if there is never
    /// any for this rule.
    pub(crate) fn finds(
        &self,
        stored: Option<&State>,
        act: Act,
        now: Time,
        handle: Handle,
    ) -> Option<bool> {
        for_rule!(self, rule => finds(rule, stored, act, now, handle), unlimited => None)
    }

    /// Returns whether leases for the whole cost are held under the handle. True for rules that give none.
    pub(crate) fn still_holds(
        &self,
        stored: Option<&State>,
        now: Time,
        cost: u64,
        handle: Handle,
    ) -> bool {
        let Rule::Held(held) = self else { return true };
        let taken = Taken { cost, at: now, handle };
        let of_handle = |state| held.refundable(state, now, taken);
        cost <= own_state(held, stored).map_or(0, of_handle)
    }

    /// Executes a command. Returns whether it took or gave anything.
    ///
    /// # Errors
    /// Fails if the debt would be too large. The state is then unchanged.
    pub(crate) fn apply(
        &self,
        stored: &mut Option<State>,
        command: &Command,
    ) -> Result<bool, Overdrawn> {
        for_rule!(self, rule => apply(rule, stored, command),
            unlimited => Ok(apply_unlimited(stored, command)))
    }

    #[inline]
    pub(crate) fn may_fit_one_word(&self) -> bool {
        matches!(self, Rule::Flow(_))
    }

    #[inline]
    pub(crate) fn is_packed(&self) -> bool {
        for_packed_rule!(self, _rule => !matches!(self, Rule::Slots(_)), others => false)
    }

    #[inline]
    pub(crate) fn may_be_packed(&self) -> bool {
        for_packed_rule!(self, _rule => true, others => false)
    }

    #[inline]
    pub(crate) fn terms(&self) -> Option<Terms> {
        for_packed_rule!(self, rule => Some(Terms(rule.terms().into())), others => None)
    }

    #[inline(always)]
    pub(crate) fn check_words(
        &self,
        words: Option<[u64; 3]>,
        cost: u64,
        now: Time,
    ) -> Option<PackedOutcome> {
        for_packed_rule!(self, rule => packed::check_words(rule, words, cost, now), others => None)
    }

    #[inline(always)]
    pub(crate) fn check_word(
        &self,
        word: u64,
        origin: Time,
        cost: u64,
        now: Time,
    ) -> Option<(Decision, u64)> {
        let Rule::Flow(flow) = self else { return None };
        packed::check_word(flow, word, origin, cost, now)
    }

    pub(crate) fn check_in_place(
        &self,
        stored: &mut State,
        cost: u64,
        handle: Option<Handle>,
        now: Time,
    ) -> Option<Decision> {
        match self {
            Rule::Slots(slots) => in_place::check_in_place(slots, stored, cost, handle, now),
            Rule::Held(held) => in_place::check_in_place(held, stored, cost, handle, now),
            _ => None,
        }
    }

    pub(crate) fn check_new_in_place(
        &self,
        cost: u64,
        handle: Option<Handle>,
        now: Time,
    ) -> Option<(Decision, Option<State>)> {
        match self {
            Rule::Slots(slots) => in_place::check_new(slots, cost, handle, now),
            Rule::Held(held) => in_place::check_new(held, cost, handle, now),
            _ => None,
        }
    }

    pub(crate) fn release_in_place(
        &self,
        stored: &mut Option<State>,
        handle: Handle,
        cost: u64,
        now: Time,
    ) -> Option<Decision> {
        let Rule::Held(held) = self else { return None };
        in_place::release(held, stored, handle, cost, now)
    }

    #[inline]
    pub(crate) fn fits_words(&self, words: [u64; 3], cost: u64, now: Time) -> Option<bool> {
        for_packed_rule!(self, rule => Some(packed::fits_words(rule, words, cost, now)), others => None)
    }

    #[inline]
    pub(crate) fn update_words(
        &self,
        words: [u64; 3],
        cost: u64,
        now: Time,
        takes: bool,
    ) -> Option<(LimitStatus, [u64; 3])> {
        for_packed_rule!(self, rule => packed::update_words(rule, words, cost, now, takes), others => None)
    }

    #[inline(always)]
    pub(crate) fn fits_word(&self, word: u64, origin: Time, cost: u64, now: Time) -> Option<bool> {
        let Rule::Flow(flow) = self else { return None };
        packed::fits_word(flow, word, origin, cost, now)
    }

    #[inline(always)]
    pub(crate) fn update_word(
        &self,
        word: u64,
        origin: Time,
        cost: u64,
        now: Time,
        takes: bool,
    ) -> Option<(LimitStatus, u64)> {
        let Rule::Flow(flow) = self else { return None };
        packed::update_word(flow, word, origin, cost, now, takes)
    }
}

/// Returns the state of this rule. A state of another rule counts as absent: a limit whose rule was
/// changed starts afresh.
fn own_state<'s, R: Counting>(_: &R, stored: Option<&'s State>) -> Option<&'s R::State>
where
    R::State: RuleState,
{
    stored.and_then(R::State::find).and_then(Entry::state)
}

fn finds<R: Counting>(
    _: &R,
    stored: Option<&State>,
    act: Act,
    now: Time,
    handle: Handle,
) -> Option<bool>
where
    R::State: RuleState,
{
    match stored.and_then(R::State::find) {
        Some(entry) => entry.finds::<R>(act, now, handle),
        None => Entry::default().finds::<R>(act, now, handle),
    }
}

/// A limit that is switched off counts nothing, but a reset forgets what it counted before.
fn apply_unlimited(stored: &mut Option<State>, command: &Command) -> bool {
    if command.act == Act::Reset {
        *stored = None;
    }
    false
}

fn apply<R: Counting>(
    rule: &R,
    stored: &mut Option<State>,
    command: &Command,
) -> Result<bool, Overdrawn>
where
    R::State: RuleState,
{
    if let Some(entry) = stored.as_mut().and_then(R::State::find_mut) {
        let changed = entry.apply(rule, command);
        if entry.is_empty() {
            *stored = None;
        }
        return changed;
    }
    let mut entry = Entry::default();
    let changed = entry.apply(rule, command);
    // The state of another rule is dropped only when there is something to replace it.
    if !entry.is_empty() || command.act == Act::Reset {
        *stored = (!entry.is_empty()).then(|| R::State::into_state(entry));
    }
    changed
}
