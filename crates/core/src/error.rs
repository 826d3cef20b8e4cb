//! What can go wrong. A denial is not an error; it is an answer.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::words::asked;

/// An operation would leave a debt that takes too long to drain, or a count too large to be exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Overdrawn;

/// Why an operation got no decision. Nothing was changed, unless the store cannot be reached: then
/// it is not known.
///
/// Cheap to clone: one failure may have to be told to many who waited for the same call.
#[derive(Debug, Clone)]
pub struct StoreError {
    kind: ErrorKind,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ErrorKind {
    Overdrawn,
    NoClock,
    Malformed(&'static str),
    Unanswered,
    Unavailable,
    Full,
}

impl StoreError {
    /// The debt would take longer to drain than [`Span::MAX`](crate::Span::MAX), or a count would
    /// no longer be exact.
    #[must_use]
    pub fn overdrawn() -> StoreError {
        StoreError { kind: ErrorKind::Overdrawn, source: None }
    }

    /// No time was given and the store has no clock of its own.
    #[must_use]
    pub fn no_clock() -> StoreError {
        StoreError { kind: ErrorKind::NoClock, source: None }
    }

    /// The operation itself makes no sense.
    #[must_use]
    pub fn malformed(what: &'static str) -> StoreError {
        StoreError { kind: ErrorKind::Malformed(what), source: None }
    }

    /// Nobody has answered yet: what stands in a place for an answer before the store fills it.
    #[must_use]
    pub fn unanswered() -> StoreError {
        StoreError { kind: ErrorKind::Unanswered, source: None }
    }

    /// The store could not be reached, or did not answer.
    #[must_use]
    pub fn unavailable(source: impl Into<Box<dyn Error + Send + Sync>>) -> StoreError {
        StoreError { kind: ErrorKind::Unavailable, source: Some(Arc::from(source.into())) }
    }

    /// The store is full and the key is new, so that what was to be counted cannot be.
    #[must_use]
    pub fn full() -> StoreError {
        StoreError { kind: ErrorKind::Full, source: None }
    }

    /// Whether the store had no room for a new key.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.kind == ErrorKind::Full
    }

    /// Whether the caller asked for too much debt. The key is denied as it is; asking again does
    /// not help, and letting the request pass because of this error would be wrong.
    #[must_use]
    pub fn is_overdrawn(&self) -> bool {
        self.kind == ErrorKind::Overdrawn
    }

    /// Whether the operation itself made no sense, whatever the store.
    #[must_use]
    pub fn is_malformed(&self) -> bool {
        matches!(self.kind, ErrorKind::Malformed(_) | ErrorKind::NoClock)
    }

    /// Whether the store could not be reached, so that what to do is a matter of policy.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        self.kind == ErrorKind::Unavailable
    }
}

impl From<Overdrawn> for StoreError {
    fn from(_: Overdrawn) -> StoreError {
        StoreError::overdrawn()
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ErrorKind::Overdrawn => f.write_str(
                "the debt would be too large: it may take at most 2^51 µs (71 years) to drain",
            ),
            ErrorKind::NoClock => {
                f.write_str("this store has no clock: pass the time with the call")
            }
            ErrorKind::Malformed(what) => write!(f, "malformed operation: {what}"),
            ErrorKind::Unanswered => f.write_str("the store has not answered"),
            ErrorKind::Full => f.write_str(
                "the store is full and this key is new: raise max_keys, or wait until keys reset",
            ),
            ErrorKind::Unavailable => f.write_str("the store is unavailable"),
        }
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}

/// A limit line that is not accepted: where, what stood there, and what is accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitError(Box<Parts>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Parts {
    line: String,
    column: Option<usize>,
    field: String,
    value: String,
    accepted: String,
    nearest: Option<String>,
}

impl LimitError {
    pub(crate) fn new(field: &str, value: impl fmt::Display, accepted: impl fmt::Display) -> Self {
        LimitError(Box::new(Parts {
            line: String::new(),
            column: None,
            field: field.to_owned(),
            value: value.to_string(),
            accepted: accepted.to_string(),
            nearest: None,
        }))
    }

    /// Adds the word that was most likely meant.
    pub(crate) fn or_nearest(mut self, nearest: Option<&str>) -> Self {
        self.0.nearest = nearest.map(str::to_owned);
        self
    }

    /// Adds where in the line it is, unless that is known already.
    pub(crate) fn at(mut self, column: Option<usize>) -> Self {
        self.0.column = self.0.column.or(column);
        self
    }

    pub(crate) fn in_line(mut self, line: &str) -> Self {
        line.clone_into(&mut self.0.line);
        self
    }

    /// The field at fault, in the words of the limit line.
    #[must_use]
    pub fn field(&self) -> &str {
        &self.0.field
    }

    /// What stood there.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.0.value
    }

    /// Where the value begins, in bytes from the start of the line.
    #[must_use]
    pub fn column(&self) -> Option<usize> {
        self.0.column
    }
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { line, column, field, value, accepted, nearest } = &*self.0;
        write!(f, "limit {line:?}")?;
        if let Some(column) = column {
            write!(f, ", column {}", column.saturating_add(1))?;
        }
        match value.as_str() {
            "" => write!(f, ": {field} is missing")?,
            value => write!(f, ": {field} {value:?} is not accepted")?,
        }
        write!(f, "; expected {accepted}")?;
        f.write_str(&nearest.as_deref().map(asked).unwrap_or_default())
    }
}

impl Error for LimitError {}
