//! One step of a trace: `{"t_ms": 1500.25, "key": "a", "cost": 1, "op": "check"}`.

use std::borrow::Cow;
use std::fmt;

use tollgate_core::{Act, Time};

/// Default key of a step.
pub(crate) const DEFAULT_KEY: &str = "-";

/// Pairs of subject name and key.
pub(crate) type Keys<'t> = Vec<(Cow<'t, str>, Cow<'t, str>)>;

/// One operation at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step<'t> {
    pub(crate) at: Time,
    pub(crate) act: Act,
    pub(crate) cost: u64,
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
    /// Returns the key of a subject; `None` is the nameless subject.
    pub(crate) fn key_of(&self, subject: Option<&str>) -> Option<&str> {
        match subject {
            None => Some(&self.key),
            Some(name) => self.keys.iter().find(|(own, _)| own == name).map(|(_, key)| &**key),
        }
    }
}
