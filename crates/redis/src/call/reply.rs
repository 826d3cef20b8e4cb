//! The reply of a script, and the decision it stands for.

use tollgate_core::remote::{LimitParams as _, RemoteLimit, RemoteState, remote_decision};
use tollgate_core::storage::{Capacity, Packed, Terms};
use tollgate_core::{Decision, Item, Op, Span, StoreError, Time};

use crate::call::bytes::{Reader, put};
use crate::decimal;
use crate::format::{
    ALLOWED, BODY_BYTES, LAPSED, OVERDRAWN, REMEMBERED, SUMMARY_BYTES, VERSION, WINDOWS_NEEDED,
};
use crate::shape::{Positions, ShortVec};

/// A parsed reply: the decision of one operation, or those of several checks.
#[derive(Debug)]
pub(crate) enum Reply<D = ScriptDecision> {
    Decision(D),
    /// The call must be repeated with the calendar windows around this instant, for the limit at this
    /// position.
    WindowsNeeded(Time, usize),
    Overdrawn,
}

/// What the limits of one call have decided, and the states they are left in.
#[derive(Debug)]
pub(crate) struct ScriptDecision {
    /// Whether all limits allow the operation. A dry run of a charge, a refund, a reset or a release says
    /// here whether it would change anything.
    pub(crate) allowed: bool,
    /// Whether this is the reply of an earlier call under the same id.
    pub(crate) remembered: bool,
    /// Whether there was an earlier call under the same id, and a lease that it took has ended. There is nothing else
    /// in such a reply; only a dry run has it.
    pub(crate) lapsed: bool,
    /// Each limit with its position. Those of an earlier call have the capacity and the cost of that call.
    limits: ShortVec<(usize, RemoteLimit)>,
    /// The reply as it was received.
    pub(crate) bytes: Vec<u8>,
}

/// The part of a call that is needed to make sense of its reply: the terms of each limit.
#[derive(Debug)]
pub(crate) struct CallTerms(pub(crate) ShortVec<LimitTerms>);

/// What a limit is decided by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LimitTerms {
    pub(crate) position: usize,
    pub(crate) capacity: Capacity,
    pub(crate) cost: u64,
}

impl CallTerms {
    /// Returns the terms of an operation over some of its limits.
    pub(crate) fn of(op: &Op<'_>, positions: &Positions) -> CallTerms {
        let limits = positions.iter().filter_map(|position| {
            let Item { limit, cost, .. } = *op.items.get(*position)?;
            Some(LimitTerms { position: *position, capacity: limit.exact_capacity(), cost })
        });
        CallTerms(limits.collect())
    }

    /// Writes the terms, to be kept with the reply: a retry needs those of the first call.
    pub(crate) fn write_to(&self, out: &mut Vec<u8>) {
        let short = |number: usize| u8::try_from(number).unwrap_or(u8::MAX);
        out.push(short(self.0.len()));
        for LimitTerms { position, capacity, cost } in &self.0 {
            let (kind, word) = capacity.to_words();
            out.extend([short(*position), kind]);
            put(out, word, 8);
            put(out, *cost, 4);
        }
    }

    fn read_from(bytes: &mut Reader<'_>) -> Option<CallTerms> {
        let count = usize::from(bytes.byte()?);
        let limits = (0..count).map_while(|_| {
            let (position, kind) = (usize::from(bytes.byte()?), bytes.byte()?);
            let capacity = Capacity::from_words(kind, bytes.number(8)?)?;
            Some(LimitTerms { position, capacity, cost: bytes.number(4)? })
        });
        let limits: ShortVec<LimitTerms> = limits.collect();
        (limits.len() == count).then_some(CallTerms(limits))
    }
}

impl Reply {
    /// Parses a reply.
    ///
    /// # Errors
    /// Fails if it is not the reply of one of our scripts.
    pub(crate) fn parse(bytes: Vec<u8>, terms: &CallTerms) -> Result<Reply, StoreError> {
        let Some(mut reply) = parse_any(&mut Reader::new(&bytes), terms) else {
            return Err(unexpected(&bytes));
        };
        if let Reply::Decision(decision) = &mut reply {
            decision.bytes = bytes;
        }
        Ok(reply)
    }
}

impl<D> Reply<D> {
    /// Returns the reply with another kind of decision.
    pub(crate) fn map<E>(self, change: impl FnOnce(D) -> E) -> Reply<E> {
        match self {
            Reply::Decision(decision) => Reply::Decision(change(decision)),
            Reply::WindowsNeeded(around, position) => Reply::WindowsNeeded(around, position),
            Reply::Overdrawn => Reply::Overdrawn,
        }
    }
}

impl ScriptDecision {
    /// Creates the decision of a check.
    pub(crate) fn new(allowed: bool, limits: ShortVec<(usize, RemoteLimit)>) -> ScriptDecision {
        ScriptDecision { allowed, remembered: false, lapsed: false, limits, bytes: Vec::new() }
    }

    /// Returns the decision of an operation for its caller, and reports the status of each limit. A retry
    /// under the same id reports none, since those of the first call no longer hold.
    pub(crate) fn answer(&self, op: &Op<'_>) -> Decision {
        let limits = self.limits.iter().map(|(_, limit)| *limit);
        if !self.remembered {
            op.report(limits.clone().map(|limit| limit.status()));
        }
        let allowed = self.allowed || !(op.act.can_be_denied() || op.act.is_follow_up());
        let mut decision = remote_decision(allowed, limits);
        decision.not_found = op.act.is_follow_up() && !allowed;
        decision
    }

    /// Returns the decision of all slots together.
    pub(crate) fn merge(slots: Vec<ScriptDecision>) -> ScriptDecision {
        let allowed = slots.iter().all(|slot| slot.allowed);
        let remembered = slots.iter().any(|slot| slot.remembered);
        let mut limits: ShortVec<_> = slots.into_iter().flat_map(|slot| slot.limits).collect();
        limits.sort_by_key(|(position, _)| *position);
        ScriptDecision { remembered, ..ScriptDecision::new(allowed, limits) }
    }

    /// Returns the decision of all slots together, where some limits have newer states.
    pub(crate) fn merge_newer(
        slots: Vec<ScriptDecision>,
        newer: Vec<ScriptDecision>,
    ) -> ScriptDecision {
        let mut merged = ScriptDecision::merge(slots);
        for (position, newer) in newer.into_iter().flat_map(|slot| slot.limits) {
            for (_, limit) in merged.limits.iter_mut().filter(|(known, _)| *known == position) {
                *limit = newer;
            }
        }
        merged
    }

    /// Returns what each limit was decided by.
    pub(crate) fn terms(&self) -> CallTerms {
        let terms = |(position, limit): &(usize, RemoteLimit)| LimitTerms {
            position: *position,
            capacity: limit.capacity,
            cost: limit.cost,
        };
        CallTerms(self.limits.iter().map(terms).collect())
    }
}

/// Returns the error for a reply that is not one of our scripts'.
pub(crate) fn unexpected(bytes: &[u8]) -> StoreError {
    StoreError::unavailable(format!("unexpected reply of the script: {bytes:?}"))
}

/// Parses a reply, new or kept.
pub(crate) fn parse_any(bytes: &mut Reader<'_>, terms: &CallTerms) -> Option<Reply> {
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

pub(crate) fn parse_new(first: u8, bytes: &mut Reader<'_>, terms: &CallTerms) -> Option<Reply> {
    let now = Time::from_micros(bytes.number(7)?)?;
    match first {
        WINDOWS_NEEDED => Some(Reply::WindowsNeeded(now, usize::from(bytes.byte()?))),
        OVERDRAWN => Some(Reply::Overdrawn),
        LAPSED => {
            let nothing = ScriptDecision::new(false, ShortVec::new());
            Some(Reply::Decision(ScriptDecision { lapsed: true, ..nothing }))
        }
        REMEMBERED => None,
        _ => {
            let states = parse_states(bytes)?;
            let limits = terms.0.iter().map(|&LimitTerms { position, capacity, cost }| {
                let state = states.iter().find(|(of, _)| *of == position);
                let state = state.map_or(RemoteState::Nothing, |(_, state)| *state);
                (position, RemoteLimit { capacity, state, now, cost })
            });
            Some(Reply::Decision(ScriptDecision::new(first == ALLOWED, limits.collect())))
        }
    }
}

/// Reads the states, each with the position of its limit.
pub(crate) fn parse_states(bytes: &mut Reader<'_>) -> Option<ShortVec<(usize, RemoteState)>> {
    let mut states = ShortVec::new();
    if !bytes.starts_with(VERSION) {
        // A flow at the first position, alone.
        states.push((0, RemoteState::Packed(decimal::parse(bytes.rest())?)));
        return Some(states);
    }
    bytes.byte()?;
    while let Some(tag) = bytes.byte() {
        states.push((usize::from(tag / 16), parse_state(bytes, tag % 16)?));
    }
    Some(states)
}

fn parse_state(bytes: &mut Reader<'_>, rule: u8) -> Option<RemoteState> {
    let size = *BODY_BYTES.get(usize::from(rule))?;
    if size == 0 {
        let Summary { used, fits_at, resets } = Summary::read_from(bytes)?;
        return Some(RemoteState::Counted { used, fits_at, resets });
    }
    parse_packed(&mut bytes.take(size)?, rule).map(RemoteState::Packed)
}

/// What a reply has of a state that is too long for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Summary {
    /// The cost that counts.
    pub(crate) used: u64,
    /// When the cost of the operation fits.
    pub(crate) fits_at: Span,
    /// When the state resets.
    pub(crate) resets: Span,
}

impl Summary {
    pub(crate) fn read_from(bytes: &mut Reader<'_>) -> Option<Summary> {
        let mut bytes = bytes.take(SUMMARY_BYTES)?;
        let mut number = || bytes.number(7);
        let (used, fits_at, resets) = (number()?, number()?, number()?);
        let [fits_at, resets] = [fits_at, resets].map(Span::from_micros);
        Some(Summary { used, fits_at, resets })
    }
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
