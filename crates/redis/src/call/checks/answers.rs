//! From the reply to several checks to the decision of each.
//!
//! The reply has the states before the first check, and how many checks of each run are allowed. So the
//! states after each check follow from the core's own arithmetic. A state that is too long for the reply has
//! a summary after each run instead; what is used then differs by the cost from one check to the next, and
//! all else is the same.

use smallvec::smallvec;
use tollgate_core::remote::{LimitParams as _, RemoteLimit, RemoteState};
use tollgate_core::storage::{State, decide};
use tollgate_core::{Act, Item, Op, StoreError, Time};

use super::{Checks, Run};
use crate::call::bytes::Reader;
use crate::call::reply::{
    CallTerms, Reply, ScriptDecision, Summary, parse_any, parse_new, parse_states, unexpected,
};
use crate::call::task::Decisions;
use crate::format::{REMEMBERED_RUN, RUNS, WINDOWS_NEEDED};
use crate::shape::{RuleKind, ShortVec, all_positions};

impl Checks<'_, '_, '_> {
    /// Parses the reply to their call.
    ///
    /// # Errors
    /// Fails if it is not the reply of our script.
    pub(crate) fn parse(
        &self,
        bytes: &[u8],
        terms: &CallTerms,
    ) -> Result<Reply<Decisions>, StoreError> {
        let mut reader = Reader::new(bytes);
        let reply = match reader.byte() {
            Some(RUNS) => decisions(&mut reader, self).map(Reply::Decision),
            // Nothing was done.
            Some(first @ WINDOWS_NEEDED) => {
                parse_new(first, &mut reader, terms).map(|reply| reply.map(|one| smallvec![one]))
            }
            _ => None,
        };
        reply.ok_or_else(|| unexpected(bytes))
    }
}

fn decisions(bytes: &mut Reader<'_>, checks: &Checks<'_, '_, '_>) -> Option<Decisions> {
    let now = Time::from_micros(bytes.number(7)?)?;
    let states = usize::try_from(bytes.number(4)?).ok()?;
    let states = parse_states(&mut bytes.take(states)?)?;
    let mut replay = Replay::new(checks.first, &states, now);
    let mut decisions = Decisions::with_capacity(checks.all.len());
    for run in checks.runs() {
        match bytes.byte()? {
            REMEMBERED_RUN => decisions.push(remembered(bytes, run.first)?),
            allowed => replay.run(&run, usize::from(allowed), bytes, &mut decisions)?,
        }
    }
    Some(decisions)
}

/// Reads the reply that was kept under the id of a check.
fn remembered(bytes: &mut Reader<'_>, check: &Op<'_>) -> Option<ScriptDecision> {
    let size = usize::try_from(bytes.number(4)?).ok()?;
    let terms = CallTerms::of(check, all_positions(check));
    match parse_any(&mut bytes.take(size)?, &terms)? {
        Reply::Decision(decision) => Some(decision),
        Reply::WindowsNeeded(..) | Reply::Overdrawn => None,
    }
}

/// The states of all limits, from one check to the next.
struct Replay {
    now: Time,
    states: ShortVec<Replayed>,
}

/// The state of one limit.
enum Replayed {
    /// As it is after the checks so far.
    State(Option<State>),
    /// As the script says for each run.
    Summarized(Option<Summary>),
}

impl Replay {
    fn new(first: &Op<'_>, states: &[(usize, RemoteState)], now: Time) -> Replay {
        let of_limit = |(position, item): (usize, &Item<'_>)| {
            if RuleKind::of(&item.limit.params()) == RuleKind::Slots {
                return Replayed::Summarized(None);
            }
            let known = states.iter().find(|(of, _)| *of == position).map(|(_, state)| *state);
            Replayed::State(match known {
                Some(RemoteState::Packed(packed)) => Some(State::from(packed)),
                _ => None,
            })
        };
        Replay { now, states: first.items.iter().enumerate().map(of_limit).collect() }
    }

    /// Adds the decisions of one run, of which the first few are allowed.
    fn run(
        &mut self,
        run: &Run<'_, '_, '_>,
        allowed: usize,
        bytes: &mut Reader<'_>,
        out: &mut Decisions,
    ) -> Option<()> {
        for state in &mut self.states {
            if let Replayed::Summarized(summary) = state {
                *summary = Some(Summary::read_from(bytes)?);
            }
        }
        for (index, check) in run.all.iter().enumerate() {
            // How many of the allowed checks come after this one.
            let later = allowed.saturating_sub(index.saturating_add(1));
            out.push(self.decide(&check.op, index < allowed, u64::try_from(later).ok()?)?);
        }
        Some(())
    }

    fn decide(&mut self, check: &Op<'_>, allowed: bool, later: u64) -> Option<ScriptDecision> {
        let now = self.now;
        let mut limits = ShortVec::new();
        for (position, (item, state)) in check.items.iter().zip(&mut self.states).enumerate() {
            let state = match state {
                Replayed::State(state) => {
                    if allowed && item.cost > 0 {
                        take(check, item, state, now)?;
                    }
                    let packed = state.as_ref().and_then(State::packed);
                    packed.map_or(RemoteState::Nothing, RemoteState::Packed)
                }
                Replayed::Summarized(summary) => {
                    let Summary { used, fits_at, resets } = (*summary)?;
                    let used = used.checked_sub(later.checked_mul(item.cost)?)?;
                    RemoteState::Counted { used, fits_at, resets }
                }
            };
            let capacity = item.limit.exact_capacity();
            limits.push((position, RemoteLimit { capacity, state, now, cost: item.cost }));
        }
        Some(ScriptDecision::new(allowed, limits))
    }
}

/// Takes the cost of a check that is allowed from one of its limits.
fn take(check: &Op<'_>, item: &Item<'_>, state: &mut Option<State>, now: Time) -> Option<()> {
    let items = [*item];
    let charge = Op::check(check.policy, &items).with_act(Act::Charge);
    decide(&charge, None, std::slice::from_mut(state), now).ok().map(|_| ())
}
