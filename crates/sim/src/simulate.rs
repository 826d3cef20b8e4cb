//! The simulator: decides steps with the real store, at the times of the trace.

use std::fmt;
use std::sync::Arc;

use tollgate::{Clock, MemoryStore};
use tollgate_core::{
    Act, Decision, Limit, LimitError, Name, Op, Policy, RequestError, Span, StoreError, Time,
};

use crate::decision::{LimitText, StepDecision};
use crate::step::Step;
use crate::table;

/// Decides the steps of a trace.
///
/// Memory grows with the number of keys in the trace, not with its length.
///
/// ```
/// use tollgate_sim::{Simulator, Step};
///
/// let mut simulator = Simulator::new(["gcra 1/s burst 2"])?;
/// for (t_ms, allowed) in [(0, true), (0, true), (999, false), (1000, true)] {
///     let line = format!("{{\"t_ms\": {t_ms}, \"key\": \"a\"}}");
///     let step = Step::parse(&line)?;
///     assert_eq!(simulator.decide(&step)?.decision().allowed, allowed);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Simulator {
    policy: Policy,
    /// The limits as text, to name the one that binds.
    limit_texts: Vec<LimitText>,
    /// Width of the column of costs in a table.
    cost_width: usize,
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
    /// The step does not fit the limits: it has no key for a subject that a limit counts, or a cost
    /// of a unit that no limit has. The text says what would fit.
    Request(RequestError, String),
    /// The store failed to apply this operation with these costs.
    Store(Act, String, StoreError),
}

impl fmt::Display for SimulateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SimulateError::Request(error, hint) => write!(f, "{error}; {hint}"),
            SimulateError::Store(act, costs, _) => write!(f, "{act} of cost {costs} failed"),
        }
    }
}

impl std::error::Error for SimulateError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            SimulateError::Store(_, _, error) => Some(error),
            // Its message is part of this one.
            SimulateError::Request(error, _) => error.source(),
        }
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
        // No bound: a simulation must decide all keys of the trace.
        let store = MemoryStore::builder().max_keys(usize::MAX).max_memory(usize::MAX).slack(SLACK);
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
        let cost_width = table::cost_width(&units(&policy));
        Simulator { policy, limit_texts, cost_width, backend }
    }

    /// Returns the head of the table whose rows [`StepDecision`] prints.
    #[must_use]
    pub fn table_head(&self) -> String {
        table::head(self.cost_width)
    }

    /// Decides one step.
    ///
    /// # Errors
    /// Fails if the step has no key for a subject that a limit counts or a cost of a unit that no
    /// limit has, if the debt would be too large, or if the store fails.
    pub fn decide<'s>(&'s mut self, step: &'s Step<'_>) -> Result<StepDecision<'s>, SimulateError> {
        let apply = |op: &Op<'_>| match &self.backend {
            Backend::Memory(store) => store.apply_one(op, Some(step.at)),
            Backend::Custom(decide) => decide(op, step.at),
        };
        let failed = |error| SimulateError::Store(step.act, step.costs_text(), error);
        let decision = step.request().with_op(&self.policy, step.act, apply);
        let decision = decision.map_err(|error| self.misfit(error))?.map_err(failed)?;
        let bound_by = self.limit_texts.get(decision.bound_by);
        Ok(StepDecision { step, decision, bound_by, cost_width: self.cost_width })
    }

    #[cold]
    fn misfit(&self, error: RequestError) -> SimulateError {
        let units = units(&self.policy);
        let hint = match error.is_bad_cost() {
            true if units.is_empty() => "expected no \"costs\"".to_owned(),
            true => format!("\"costs\" may have {}", units.join(", ")),
            false if error.is_unsupported() => "leave this step out".to_owned(),
            false => "add it to \"keys\", such as \"keys\":{\"ip\":\"203.0.113.9\"}".to_owned(),
        };
        SimulateError::Request(error, hint)
    }
}

/// Returns the units of the limits, each once.
fn units(policy: &Policy) -> Vec<&str> {
    let mut units: Vec<&str> =
        policy.limits().iter().filter_map(|limit| limit.unit().map(Name::as_str)).collect();
    units.sort_unstable();
    units.dedup();
    units
}
