//! One step of a trace: `{"t_ms": 1500.25, "key": "a", "cost": 1, "costs": {"tokens": 850}}`.

use std::borrow::Cow;
use std::fmt;

use tollgate_core::{Act, Request, Time};

/// Default key of a step.
pub(crate) const DEFAULT_KEY: &str = "-";

/// Pairs of subject name and key.
pub(crate) type Keys<'t> = Vec<(Cow<'t, str>, Cow<'t, str>)>;

/// Pairs of unit and cost.
pub(crate) type Costs<'t> = Vec<(Cow<'t, str>, u64)>;

/// One operation at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step<'t> {
    pub(crate) at: Time,
    pub(crate) act: Act,
    pub(crate) cost: u64,
    /// Costs for limits with `of`.
    pub(crate) costs: Costs<'t>,
    pub(crate) key: Cow<'t, str>,
    /// Keys for limits with `per`.
    pub(crate) keys: Keys<'t>,
    pub(crate) id: Option<Cow<'t, str>>,
}

/// A line is not a valid step. The message contains the field, its value and what is expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepError(pub(crate) String);

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StepError {}

impl Step<'_> {
    /// Returns what the step asks for.
    #[inline]
    pub(crate) fn request(&self) -> Request<'_> {
        let mut request = Request::of(&*self.key).cost(self.cost);
        for (name, key) in &self.keys {
            request = request.subject(name, &**key);
        }
        for (unit, cost) in &self.costs {
            request = request.cost_of(unit, *cost);
        }
        match &self.id {
            Some(id) => request.id(&**id),
            None => request,
        }
    }

    /// Returns all its costs, for people: `1 tokens=850`.
    pub(crate) fn costs_text(&self) -> String {
        let costs = self.costs.iter().map(|(unit, cost)| format!(" {unit}={cost}"));
        self.cost.to_string() + &costs.collect::<String>()
    }
}
