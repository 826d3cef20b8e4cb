//! Policies: limits that are checked together, all or nothing.

use std::fmt;

use crate::error::LimitError;
use crate::limit::Limit;
use crate::operation::Item;
use crate::subject::{Key, Name, Subject};

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

    /// Returns each limit with the subject it counts. `key_of` returns the key of a subject by its
    /// name; `None` is the nameless key.
    ///
    /// # Errors
    /// Fails at the first subject without a key.
    pub fn items<'a>(
        &'a self,
        mut key_of: impl FnMut(Option<&'a str>) -> Option<Key<'a>>,
    ) -> Result<Vec<Item<'a>>, MissingKey> {
        self.limits.iter().map(|limit| limit.item(&mut key_of)).collect()
    }
}

impl Limit {
    /// Returns the limit with the subject it counts, as [`Policy::items`] does.
    ///
    /// # Errors
    /// Fails if the subject has no key.
    pub fn item<'a>(
        &'a self,
        key_of: impl FnOnce(Option<&'a str>) -> Option<Key<'a>>,
    ) -> Result<Item<'a>, MissingKey> {
        let name = self.per();
        let key = match name.map(Name::as_str) {
            Some(Name::ALL) => Some(Key::ALL),
            name => key_of(name),
        };
        let key = key.ok_or_else(|| MissingKey(name.cloned()))?;
        Ok(Item { limit: self, subject: Subject { name, key } })
    }
}

/// The error for a limit that counts a subject without a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingKey(Option<Name>);

impl fmt::Display for MissingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(name) => write!(f, "missing key \"{name}\": a limit counts per {name}"),
            None => f.write_str("missing key: a limit counts the nameless key"),
        }
    }
}

impl std::error::Error for MissingKey {}
