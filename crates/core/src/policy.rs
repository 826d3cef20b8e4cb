//! Policies: limits that are checked together, all or nothing.

use crate::error::LimitError;
use crate::limit::Limit;
use crate::subject::Name;

/// A named, ordered list of limits that are checked together.
///
/// ```
/// use tollgate_core::{Name, Policy};
///
/// let login = Policy::parse(
///     Name::new("login")?,
///     ["sliding-counters 1/5s resolution 1s per ip", "fixed-window 100/day per user"],
/// )?;
/// assert_eq!(login.limits().len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    name: Name,
    limits: Vec<Limit>,
}

impl Policy {
    /// Creates a policy of these limits. A policy without limits allows everything.
    #[must_use]
    pub fn new(name: Name, limits: Vec<Limit>) -> Policy {
        Policy { name, limits }
    }

    /// Parses a policy from limit lines.
    ///
    /// # Errors
    /// Fails at the first invalid line.
    pub fn parse<L: AsRef<str>>(
        name: Name,
        lines: impl IntoIterator<Item = L>,
    ) -> Result<Policy, LimitError> {
        let limits =
            lines.into_iter().map(|line| line.as_ref().parse()).collect::<Result<_, _>>()?;
        Ok(Policy { name, limits })
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Returns its limits, in order.
    #[must_use]
    pub fn limits(&self) -> &[Limit] {
        &self.limits
    }
}
