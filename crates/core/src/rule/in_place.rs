//! Checks and releases of one limit over a state that is not packed, changed where it lies.

use super::counting::{Counting, InPlace};
use super::entry::Entry;
use super::handle::Handle;
use super::state::{RuleState, State};
use super::status::{live, live_status, status};
use crate::decision::Decision;
use crate::time::Time;

/// Checks a limit over a live state without open reservations. `None` if `decide` has to be called; then nothing has
/// changed.
pub(super) fn check_in_place<R: InPlace>(
    rule: &R,
    stored: &mut State,
    cost: u64,
    handle: Option<Handle>,
    now: Time,
) -> Option<Decision>
where
    R::State: RuleState,
{
    let state = R::State::find_mut(stored)?.state_alone_mut()?.as_mut()?;
    let (live, at) = live::<R>(Some(state), now);
    let room = rule.headroom(live?, at);
    let Some(before) = room.filter(|room| cost <= *room) else {
        let status = live_status(rule, live, now, at, room, cost);
        return Some(Decision::from_status(false, status));
    };
    rule.take_in_place(state, at, cost, handle)?;
    let left = before.checked_sub(cost);
    Some(Decision::from_status(true, live_status(rule, Some(state), now, at, left, cost)))
}

/// Checks a limit of a new key. Returns the state too, if the check is allowed. `None` if `decide` has to be called.
pub(super) fn check_new<R: InPlace>(
    rule: &R,
    cost: u64,
    handle: Option<Handle>,
    now: Time,
) -> Option<(Decision, Option<State>)>
where
    R::State: RuleState,
{
    let Some(left) = rule.capacity().checked_sub(cost) else {
        let status = live_status(rule, None, now, now, Some(rule.capacity()), cost);
        return Some((Decision::from_status(false, status), None));
    };
    let mut state = None;
    rule.take(&mut state, now, cost, handle).ok()?;
    let status = live_status(rule, state.as_ref(), now, now, Some(left), cost);
    let entry = Entry::new(state, Vec::new());
    Some((Decision::from_status(true, status), Some(R::State::into_state(entry))))
}

/// Releases the leases under a handle, of a key without open reservations. `None` if there are none, or `decide` has to
/// be called; then nothing has changed.
pub(super) fn release<R: Counting>(
    rule: &R,
    stored: &mut Option<State>,
    handle: Handle,
    cost: u64,
    now: Time,
) -> Option<Decision>
where
    R::State: RuleState,
{
    let state = R::State::find_mut(stored.as_mut()?)?.state_alone_mut()?;
    live::<R>(state.as_ref(), now).0?;
    if !rule.release(state, now, handle) {
        return None;
    }
    let status = status(rule, state.as_ref(), now, cost);
    if state.is_none() {
        *stored = None;
    }
    Some(Decision::from_status(true, status))
}
