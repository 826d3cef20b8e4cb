//! The numbers of a state, which every rule reports the same way.

use super::counting::Counting;
use crate::decision::LimitStatus;
use crate::time::{Span, Time};

/// Returns the state if it is live, and the instant at which the decision is made.
#[inline(always)]
pub(super) fn live<R: Counting>(state: Option<&R::State>, now: Time) -> (Option<&R::State>, Time) {
    let state = state.filter(|state| now < R::resets_at(state));
    (state, state.map_or(now, |state| now.max(R::instant(state))))
}

/// Returns whether a check of this cost would be allowed.
pub(super) fn fits<R: Counting>(rule: &R, state: Option<&R::State>, now: Time, cost: u64) -> bool {
    let (state, at) = live::<R>(state, now);
    let room = state.map_or(Some(rule.capacity()), |state| rule.headroom(state, at));
    room.is_some_and(|room| cost <= room)
}

/// Returns the numbers of the state, for a check of this cost.
pub(super) fn status<R: Counting>(
    rule: &R,
    state: Option<&R::State>,
    now: Time,
    cost: u64,
) -> LimitStatus {
    let (state, at) = live::<R>(state, now);
    let room = state.map_or(Some(rule.capacity()), |state| rule.headroom(state, at));
    live_status(rule, state, now, at, room, cost)
}

/// Returns the numbers of a live state, or of none, with `room` left at the instant `at`.
#[inline(always)]
pub(super) fn live_status<R: Counting>(
    rule: &R,
    state: Option<&R::State>,
    now: Time,
    at: Time,
    room: Option<u64>,
    cost: u64,
) -> LimitStatus {
    let retry_after = match state {
        _ if cost > rule.capacity() => None,
        Some(state) if room.is_none_or(|room| cost > room) => {
            Some(rule.fits_at(state, at, cost).since(now))
        }
        _ => Some(Span::ZERO),
    };
    LimitStatus {
        limit: Some(rule.capacity()),
        remaining: Some(room.unwrap_or(0)),
        retry_after,
        reset_after: state.map_or(Span::ZERO, |state| R::resets_at(state).since(now)),
    }
}
