//! Checks of one limit over a state that is not packed, changed where it lies.

use super::counting::Counting;
use super::state::{RuleState, State};
use super::status::{live, live_status, status};
use crate::decision::Decision;
use crate::time::Time;

/// Checks a limit over a live state without open reservations. `None` if `decide` has to be called; then nothing has
/// changed.
pub(super) fn check_in_place<R: Counting>(
    rule: &R,
    stored: &mut State,
    cost: u64,
    now: Time,
) -> Option<Decision>
where
    R::State: RuleState,
{
    let state = R::State::find_mut(stored)?.state_alone_mut()?;
    let (live, at) = live::<R>(state.as_ref(), now);
    let live = live?;
    let room = rule.headroom(live, at);
    if room.is_none_or(|room| cost > room) {
        let status = live_status(rule, Some(live), now, at, room, cost);
        return Some(Decision::from_status(false, status));
    }
    rule.take(state, at, cost, None).ok()?;
    Some(Decision::from_status(true, status(rule, state.as_ref(), now, cost)))
}
