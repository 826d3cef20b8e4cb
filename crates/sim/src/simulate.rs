//! Steps in, answers out: the same decisions as everywhere else, at the trace's own times.

use std::fmt;
use std::sync::Arc;

use tollgate::{Clock, MemoryStore};
use tollgate_core::{
    Act, Decision, Id, InvalidKey, Key, Limit, LimitError, MissingKey, Name, Op, Policy, Span,
    StoreError, Time,
};

use crate::answer::{Answer, Printed};
use crate::trace::Step;

/// Answers the steps of a trace.
///
/// Memory grows with the keys of the trace, not with its length.
#[derive(Debug)]
pub struct Simulator {
    policy: Policy,
    /// The limits as they are printed, to name the one that binds.
    lines: Vec<Printed>,
    store: Backend,
}

/// Where states are kept.
enum Backend {
    Memory(Arc<MemoryStore>),
    Remote(RemoteDecide),
}

/// Decides an operation at a time, in a store that is not in this process.
pub type RemoteDecide = Box<dyn Fn(&Op<'_>, Time) -> Result<Decision, StoreError>>;

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if matches!(self, Backend::Memory(_)) { "Here" } else { "RemoteDecide" })
    }
}

/// How far the times of a trace may step back and still find what was counted: as far as they like.
const SLACK: Span = Span::from_micros(u64::MAX);

/// Why a step got no answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum SimulateError {
    /// A limit counts a subject that the step does not name.
    MissingKey(MissingKey),
    /// A key or an id is too long.
    InvalidKey(InvalidKey),
    /// The store refused this operation of this cost.
    Store(Act, u64, StoreError),
}

impl fmt::Display for SimulateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SimulateError::MissingKey(error) => {
                write!(
                    f,
                    "{error}: say it in \"keys\", such as \"keys\":{{\"ip\":\"203.0.113.9\"}}"
                )
            }
            SimulateError::InvalidKey(error) => write!(f, "{error}"),
            SimulateError::Store(act, cost, error) => {
                write!(f, "{act} of cost {cost} is refused: {error}")
            }
        }
    }
}

impl std::error::Error for SimulateError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            SimulateError::Store(_, _, error) => error.source(),
            _ => None,
        }
    }
}

impl From<MissingKey> for SimulateError {
    fn from(error: MissingKey) -> SimulateError {
        SimulateError::MissingKey(error)
    }
}

impl From<InvalidKey> for SimulateError {
    fn from(error: InvalidKey) -> SimulateError {
        SimulateError::InvalidKey(error)
    }
}

impl Simulator {
    /// A simulator for these limit lines, checked together.
    ///
    /// # Errors
    /// The first line that is not a limit.
    pub fn new<L: AsRef<str>>(lines: impl IntoIterator<Item = L>) -> Result<Simulator, LimitError> {
        let limits = lines.into_iter().map(|line| line.as_ref().parse());
        limits.collect::<Result<_, _>>().map(Simulator::from_limits)
    }

    /// A simulator for these limits, checked together.
    #[must_use]
    pub fn from_limits(limits: Vec<Limit>) -> Simulator {
        // As many keys as the trace has: whoever simulates wants to see them all.
        let store = MemoryStore::builder().max_keys(usize::MAX).slack(SLACK);
        let store = store.clock(Clock::manual()).build().unwrap_or_default();
        Simulator::with(limits, Backend::Memory(store))
    }

    /// A simulator for these limits, checked together in a store that is somewhere else.
    #[must_use]
    pub fn in_store(limits: Vec<Limit>, store: RemoteDecide) -> Simulator {
        Simulator::with(limits, Backend::Remote(store))
    }

    fn with(limits: Vec<Limit>, store: Backend) -> Simulator {
        let policy = Policy::new(Name::default(), limits);
        let lines = policy.limits().iter().map(Printed::new).collect();
        Simulator { policy, lines, store }
    }

    /// Answers one step.
    ///
    /// # Errors
    /// If a limit counts a subject that the step does not name, or the debt would be too large.
    pub fn answer<'s>(&'s mut self, step: &'s Step<'_>) -> Result<Answer<'s>, SimulateError> {
        let key_of =
            |kind: Option<&str>| step.key_of(kind).and_then(|key| Key::new(key.as_bytes()).ok());
        let items = self.policy.items(key_of)?;
        let id = step.id.as_ref().map(|id| Id::new(id.as_bytes())).transpose()?;
        let policy = self.policy.name();
        let op = Op { policy, items: &items, act: step.act, cost: step.cost, id };
        let refused = |error| SimulateError::Store(step.act, step.cost, error);
        let decision = match &self.store {
            Backend::Memory(store) => store.apply_one(&op, Some(step.at)),
            Backend::Remote(decide) => decide(&op, step.at),
        };
        let decision = decision.map_err(refused)?;
        let bound_by = self.lines.get(decision.bound_by);
        Ok(Answer { step, decision, bound_by })
    }
}
