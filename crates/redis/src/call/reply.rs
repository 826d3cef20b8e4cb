//! The reply of a script, and the decision it stands for.

use tollgate_core::remote::{RemoteState, remote_decision};
use tollgate_core::storage::{Capacity, Packed, Terms};
use tollgate_core::{Decision, Span, StoreError, Time};

use crate::call::bytes::Reader;
use crate::format::{
    ALLOWED, BODY_BYTES, OVERDRAWN, REMEMBERED, SUMMARY_BYTES, VERSION, WINDOWS_NEEDED,
};
use crate::shape::ShortVec;

/// A parsed reply.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all are decisions, and none is kept")]
pub(crate) enum Reply {
    Decision(ScriptDecision),
    /// The call must be repeated with the calendar windows around this instant, for the limit at this
    /// position.
    WindowsNeeded(Time, usize),
    Overdrawn,
}

/// What the limits of one call have decided, and the states they are left in.
#[derive(Debug)]
pub(crate) struct ScriptDecision {
    /// Whether all limits allow the operation. A dry run of an operation that cannot be denied says here
    /// whether it would change anything.
    pub(crate) allowed: bool,
    /// Whether this is the reply of an earlier call under the same id.
    pub(crate) remembered: bool,
    /// The cost at the time of the decision. Like the capacities it may have changed since an earlier call.
    cost: u64,
    limits: ShortVec<(usize, Capacity, RemoteState, Time)>,
    /// The reply as it was received.
    pub(crate) bytes: Vec<u8>,
}

/// The part of a call that is needed to make sense of its reply.
#[derive(Debug)]
pub(crate) struct CallTerms {
    pub(crate) cost: u64,
    /// The capacity of each limit, with its position.
    pub(crate) capacities: ShortVec<(usize, Capacity)>,
}

impl CallTerms {
    /// Writes the terms, to be kept with the reply: a retry needs those of the first call.
    pub(crate) fn write_to(&self, out: &mut Vec<u8>) {
        let short = |number: usize| u8::try_from(number).unwrap_or(u8::MAX);
        out.extend_from_slice(&self.cost.to_le_bytes());
        out.push(short(self.capacities.len()));
        for (position, capacity) in &self.capacities {
            let (kind, word) = capacity.to_words();
            out.extend([short(*position), kind]);
            out.extend_from_slice(&word.to_le_bytes());
        }
    }

    fn read_from(bytes: &mut Reader<'_>) -> Option<CallTerms> {
        let cost = bytes.number(8)?;
        let count = usize::from(bytes.byte()?);
        let capacities = (0..count).map_while(|_| {
            let (position, kind) = (usize::from(bytes.byte()?), bytes.byte()?);
            Some((position, Capacity::from_words(kind, bytes.number(8)?)?))
        });
        let capacities: ShortVec<(usize, Capacity)> = capacities.collect();
        (capacities.len() == count).then_some(CallTerms { cost, capacities })
    }
}

impl Reply {
    /// Parses a reply.
    ///
    /// # Errors
    /// Fails if it is not the reply of one of our scripts.
    pub(crate) fn parse(bytes: Vec<u8>, terms: &CallTerms) -> Result<Reply, StoreError> {
        let Some(mut reply) = parse(&mut Reader::new(&bytes), terms) else {
            return Err(StoreError::unavailable(format!(
                "unexpected reply of the script: {bytes:?}"
            )));
        };
        if let Reply::Decision(decision) = &mut reply {
            decision.bytes = bytes;
        }
        Ok(reply)
    }
}

impl ScriptDecision {
    /// Returns the decision for the caller.
    pub(crate) fn decision(&self, can_be_denied: bool) -> Decision {
        let limits = self.limits.iter().map(|(_, capacity, state, now)| (*capacity, *state, *now));
        remote_decision(self.allowed || !can_be_denied, self.cost, limits)
    }

    /// Returns the decision of all slots together.
    pub(crate) fn merge(slots: Vec<ScriptDecision>, can_be_denied: bool) -> Decision {
        let allowed = slots.iter().all(|slot| slot.allowed);
        let cost = slots.first().map_or(0, |slot| slot.cost);
        let mut limits: ShortVec<_> = slots.into_iter().flat_map(|slot| slot.limits).collect();
        limits.sort_by_key(|(position, ..)| *position);
        let merged = ScriptDecision { allowed, remembered: false, cost, limits, bytes: Vec::new() };
        merged.decision(can_be_denied)
    }

    /// Returns the decision of all slots together, where some limits have newer states.
    pub(crate) fn merge_newer(
        mut slots: Vec<ScriptDecision>,
        newer: Vec<ScriptDecision>,
    ) -> Decision {
        for (position, capacity, state, now) in newer.into_iter().flat_map(|slot| slot.limits) {
            let limits = slots.iter_mut().flat_map(|slot| slot.limits.iter_mut());
            for limit in limits.filter(|limit| limit.0 == position) {
                *limit = (position, capacity, state, now);
            }
        }
        ScriptDecision::merge(slots, true)
    }

    /// Returns the capacity of each limit at the time of the decision.
    pub(crate) fn capacities(&self) -> ShortVec<(usize, Capacity)> {
        self.limits.iter().map(|(position, capacity, ..)| (*position, *capacity)).collect()
    }
}

fn parse(bytes: &mut Reader<'_>, terms: &CallTerms) -> Option<Reply> {
    let first = bytes.byte()?;
    if first == REMEMBERED {
        let terms = CallTerms::read_from(bytes)?;
        // Only first replies are kept, so that this one is not a remembered one itself.
        let mut reply = parse_new(bytes.byte()?, bytes, &terms)?;
        if let Reply::Decision(decision) = &mut reply {
            decision.remembered = true;
        }
        return Some(reply);
    }
    parse_new(first, bytes, terms)
}

fn parse_new(first: u8, bytes: &mut Reader<'_>, terms: &CallTerms) -> Option<Reply> {
    let now = Time::from_micros(bytes.number(7)?)?;
    match first {
        WINDOWS_NEEDED => Some(Reply::WindowsNeeded(now, usize::from(bytes.byte()?))),
        OVERDRAWN => Some(Reply::Overdrawn),
        REMEMBERED => None,
        _ => {
            let states = parse_states(bytes)?;
            let limits = terms.capacities.iter().map(|(position, capacity)| {
                let state = states.iter().find(|(of, _)| of == position);
                let state = state.map_or(RemoteState::Nothing, |(_, state)| *state);
                (*position, *capacity, state, now)
            });
            let limits = limits.collect();
            let (allowed, cost) = (first == ALLOWED, terms.cost);
            let (remembered, bytes) = (false, Vec::new());
            Some(Reply::Decision(ScriptDecision { allowed, remembered, cost, limits, bytes }))
        }
    }
}

/// Reads the states, each with the position of its limit.
fn parse_states(bytes: &mut Reader<'_>) -> Option<ShortVec<(usize, RemoteState)>> {
    let mut states = ShortVec::new();
    if bytes.byte()? != VERSION {
        return None;
    }
    while let Some(tag) = bytes.byte() {
        states.push((usize::from(tag / 16), parse_state(bytes, tag % 16)?));
    }
    Some(states)
}

fn parse_state(bytes: &mut Reader<'_>, rule: u8) -> Option<RemoteState> {
    let size = *BODY_BYTES.get(usize::from(rule))?;
    let mut body = bytes.take(if size == 0 { SUMMARY_BYTES } else { size })?;
    if size == 0 {
        let mut number = || body.number(7).map(Span::from_micros);
        let (used, fits_at, resets) = (number()?, number()?, number()?);
        return Some(RemoteState::Counted { used: used.as_micros(), fits_at, resets });
    }
    parse_packed(&mut body, rule).map(RemoteState::Packed)
}

/// Reads a state of a fixed size, as `lua/*.lua` write it.
fn parse_packed(body: &mut Reader<'_>, rule: u8) -> Option<Packed> {
    match rule {
        1 => {
            let (tick, rest) = (body.number(7)?, body.number(4)?);
            let (ticks, parts) = (body.number(7)?, body.number(4)?);
            let empty = u128::from(tick) * u128::from(parts) + u128::from(rest);
            let halves = [empty & u128::from(u64::MAX), empty >> 64].map(u64::try_from);
            let [Ok(low), Ok(high)] = halves else { return None };
            Some(Packed::new(Terms::from_words([0, ticks, parts, 0])?, [low, high, 0]))
        }
        2 => {
            let (level, since) = (body.number(7)?, body.number(7)?);
            let (drip, every) = (body.number(4)?, body.number(7)?);
            Some(Packed::new(Terms::from_words([1, drip, every, 0])?, [level, since, 0]))
        }
        3 => {
            let (count, start, end) = (body.number(7)?, body.number(7)?, body.number(7)?);
            Some(Packed::new(Terms::from_words([2, 0, 0, 0])?, [count, start, end]))
        }
        5 => {
            let (start, window) = (body.number(7)?, body.number(7)?);
            let (last, count) = (body.number(7)?, body.number(7)?);
            Some(Packed::new(Terms::from_words([3, window, 0, 0])?, [start, last, count]))
        }
        6 => {
            let (level, since) = (body.number(8)?, body.number(7)?);
            let (decay, resolution, floor) = (body.number(8)?, body.number(7)?, body.number(8)?);
            let terms = Terms::from_words([4, decay, resolution, floor])?;
            Packed::of_level(terms, f64::from_bits(level), Time::from_micros(since)?)
        }
        _ => None,
    }
}
