//! Policies: limits that are checked together, all or nothing.

use crate::act::Act;
use crate::error::LimitError;
use crate::limit::{Algorithm, Limit};
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

    /// Returns whether an operation can have anything to act on: there is no lease to renew or release
    /// without a `concurrency` limit, and no reservation to settle if nothing is counted. A limit that
    /// is switched off by its factor still is what it is written as.
    ///
    /// ```
    /// use tollgate_core::{Act, Name, Policy};
    ///
    /// let api = Policy::parse(Name::new("api")?, ["gcra 100/s"])?;
    /// assert!(api.supports(Act::Settle));
    /// assert!(!api.supports(Act::Renew));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn supports(&self, act: Act) -> bool {
        let counts = |limit: &Limit| limit.algorithm() != Algorithm::Unlimited;
        match act {
            Act::Settle => self.limits.iter().any(counts),
            Act::Release | Act::Renew => self.limits.iter().any(Limit::gives_leases),
            _ => true,
        }
    }
}
