//! The simulator: decides steps with the real store, at the times of the trace.

use std::fmt;
use std::sync::Arc;

use tollgate::{Clock, MemoryStore};
use tollgate_core::{
    Act, Decision, Id, InvalidKey, Key, Limit, LimitError, MissingKey, Name, Op, Policy, Span,
    StoreError, Time,
};

use crate::decision::{LimitText, StepDecision};
use crate::step::Step;

/// Decides the steps of a trace.
///
/// Memory grows with the number of keys in the trace, not with its length.
#[derive(Debug)]
pub struct Simulator {
    policy: Policy,
    /// The limits as text, to name the one that binds.
    limit_texts: Vec<LimitText>,
    backend: Backend,
}

/// The store that decides.
enum Backend {
    Memory(Arc<MemoryStore>),
    Custom(DecideFn),
}

/// A function that applies one operation to a store of the caller, at the given time.
pub type DecideFn = Box<dyn Fn(&Op<'_>, Time) -> Result<Decision, StoreError>>;

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if matches!(self, Backend::Memory(_)) { "Memory" } else { "Custom" })
    }
}

/// How long expired state is kept: for ever, since the times of a trace may step back by any amount.
const SLACK: Span = Span::from_micros(u64::MAX);

/// Why a step could not be decided.
#[derive(Debug)]
#[non_exhaustive]
pub enum SimulateError {
    /// The step has no key for a subject that a limit counts.
    MissingKey(MissingKey),
    /// A key or an id is empty or too long.
    InvalidKey(InvalidKey),
    /// The store failed to apply this operation with this cost.
    Store(Act, u64, StoreError),
}

impl fmt::Display for SimulateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SimulateError::MissingKey(error) => {
                write!(
                    f,
                    "{error}; add it to \"keys\", such as \"keys\":{{\"ip\":\"203.0.113.9\"}}"
                )
            }
            SimulateError::InvalidKey(error) => write!(f, "{error}"),
            SimulateError::Store(act, cost, error) => {
                write!(f, "{act} of cost {cost} failed: {error}")
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
    /// Creates a simulator for these limit lines, checked together, with state in memory.
    ///
    /// # Errors
    /// Fails with the first line that is not a valid limit.
    pub fn new<L: AsRef<str>>(lines: impl IntoIterator<Item = L>) -> Result<Simulator, LimitError> {
        let limits = lines.into_iter().map(|line| line.as_ref().parse());
        limits.collect::<Result<_, _>>().map(Simulator::from_limits)
    }

    /// Creates a simulator for these limits, checked together, with state in memory.
    #[must_use]
    pub fn from_limits(limits: Vec<Limit>) -> Simulator {
        // No bound on the number of keys: a simulation must decide all keys of the trace.
        let store = MemoryStore::builder().max_keys(usize::MAX).slack(SLACK);
        let store = store.clock(Clock::manual()).build().unwrap_or_default();
        Simulator::with_backend(limits, Backend::Memory(store))
    }

    /// Creates a simulator for these limits, checked together, that calls `decide` for each step.
    #[must_use]
    pub fn with_store(limits: Vec<Limit>, decide: DecideFn) -> Simulator {
        Simulator::with_backend(limits, Backend::Custom(decide))
    }

    fn with_backend(limits: Vec<Limit>, backend: Backend) -> Simulator {
        let policy = Policy::new(Name::default(), limits);
        let limit_texts = policy.limits().iter().map(LimitText::new).collect();
        Simulator { policy, limit_texts, backend }
    }

    /// Decides one step.
    ///
    /// # Errors
    /// Fails if the step has no key for a subject that a limit counts, if the debt would be too
    /// large, or if the store fails.
    pub fn decide<'s>(&'s mut self, step: &'s Step<'_>) -> Result<StepDecision<'s>, SimulateError> {
        let key_of = |subject: Option<&str>| {
            step.key_of(subject).and_then(|key| Key::new(key.as_bytes()).ok())
        };
        let items = self.policy.items(key_of)?;
        let id = step.id.as_ref().map(|id| Id::new(id.as_bytes())).transpose()?;
        let policy = self.policy.name();
        let op = Op { policy, items: &items, act: step.act, cost: step.cost, id };
        let failed = |error| SimulateError::Store(step.act, step.cost, error);
        let decision = match &self.backend {
            Backend::Memory(store) => store.apply_one(&op, Some(step.at)),
            Backend::Custom(decide) => decide(&op, step.at),
        };
        let decision = decision.map_err(failed)?;
        let bound_by = self.limit_texts.get(decision.bound_by);
        Ok(StepDecision { step, decision, bound_by })
    }
}
