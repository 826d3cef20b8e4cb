//! Errors of stores and limit lines. A denial is a decision, not an error.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::suggest::suggestion;

/// An operation would leave a debt that takes too long to drain, or a count too large to be exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Overdrawn;

/// The error of an operation that got no decision. The operation changed nothing, except that this
/// is unknown if the store was [unavailable](StoreError::is_unavailable) and did not
/// [refuse](StoreError::is_refused) it.
///
/// Cheap to clone, because one failed call to a store may have to be reported to many callers.
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
    Refused,
    Damaged,
    Full,
}

impl StoreError {
    /// Creates the error for a debt that would take longer to drain than
    /// [`Span::MAX`](crate::Span::MAX), or a count that would no longer be exact.
    #[must_use]
    pub fn overdrawn() -> StoreError {
        StoreError { kind: ErrorKind::Overdrawn, source: None }
    }

    /// Creates the error for a call without a time to a store that has no clock.
    #[must_use]
    pub fn no_clock() -> StoreError {
        StoreError { kind: ErrorKind::NoClock, source: None }
    }

    /// Creates the error for an operation that no store can apply; `what` says what is wrong.
    #[must_use]
    pub fn malformed(what: &'static str) -> StoreError {
        StoreError { kind: ErrorKind::Malformed(what), source: None }
    }

    /// Creates the initial value of a slot in `out`, which the store overwrites with its result.
    #[must_use]
    pub fn unanswered() -> StoreError {
        StoreError { kind: ErrorKind::Unanswered, source: None }
    }

    /// Returns whether this is still the initial value of a slot.
    #[must_use]
    pub fn is_unanswered(&self) -> bool {
        self.kind == ErrorKind::Unanswered
    }

    /// Creates the error for a store that did not respond: it may have applied the operation.
    #[must_use]
    pub fn unavailable(source: impl Into<Box<dyn Error + Send + Sync>>) -> StoreError {
        StoreError { kind: ErrorKind::Unavailable, source: Some(Arc::from(source.into())) }
    }

    /// Creates the error for a store that is unavailable and has not applied the operation for certain: it could
    /// not be reached, or said that it is not able to.
    #[must_use]
    pub fn refused(source: impl Into<Box<dyn Error + Send + Sync>>) -> StoreError {
        StoreError { kind: ErrorKind::Refused, source: Some(Arc::from(source.into())) }
    }

    /// Creates the error for a key whose stored state cannot be read: something else has written it, or another
    /// version. A [reset](crate::Act::Reset) forgets it, unless it is the reply kept under an id other than the
    /// reset's own.
    #[must_use]
    pub fn damaged(source: impl Into<Box<dyn Error + Send + Sync>>) -> StoreError {
        StoreError { kind: ErrorKind::Damaged, source: Some(Arc::from(source.into())) }
    }

    /// Returns whether the stored state of the key cannot be read. The store is available, and other keys are not
    /// concerned.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.kind == ErrorKind::Damaged
    }

    /// Creates the error for a new key that has to be counted while the store is full.
    #[must_use]
    pub fn full() -> StoreError {
        StoreError { kind: ErrorKind::Full, source: None }
    }

    /// Returns whether the store had no room for a new key.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.kind == ErrorKind::Full
    }

    /// Returns whether the debt would be too large. The key is denied already, so a retry does not
    /// help, and letting the request pass because of this error would be wrong.
    #[must_use]
    pub fn is_overdrawn(&self) -> bool {
        self.kind == ErrorKind::Overdrawn
    }

    /// Returns whether the operation is invalid on any store.
    #[must_use]
    pub fn is_malformed(&self) -> bool {
        matches!(self.kind, ErrorKind::Malformed(_) | ErrorKind::NoClock)
    }

    /// Returns whether the store could not be reached, or was not able to apply the operation. Whether to let
    /// the request pass is then the policy's choice.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        matches!(self.kind, ErrorKind::Unavailable | ErrorKind::Refused)
    }

    /// Returns whether the store was unavailable and certainly has not applied the operation.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.kind == ErrorKind::Refused
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
            ErrorKind::Unanswered => f.write_str("no response from the store"),
            ErrorKind::Full => f.write_str(
                "store full, not counted: raise max_keys or max_memory, or wait until keys reset",
            ),
            ErrorKind::Damaged => {
                f.write_str("the stored state of the key cannot be read: reset the key")
            }
            ErrorKind::Unavailable | ErrorKind::Refused => f.write_str("store unavailable"),
        }
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}

/// The error of an invalid limit: which field, its value, and what is expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitError(Box<Details>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Details {
    line: String,
    column: Option<usize>,
    field: String,
    value: String,
    expected: String,
    nearest: Option<String>,
}

impl LimitError {
    pub(crate) fn new(field: &str, value: impl fmt::Display, expected: impl fmt::Display) -> Self {
        LimitError(Box::new(Details {
            line: String::new(),
            column: None,
            field: field.to_owned(),
            value: value.to_string(),
            expected: expected.to_string(),
            nearest: None,
        }))
    }

    /// Adds the word to suggest in a "did you mean".
    pub(crate) fn or_nearest(mut self, nearest: Option<&str>) -> Self {
        self.0.nearest = nearest.map(str::to_owned);
        self
    }

    /// Sets the column unless it is already set.
    pub(crate) fn at(mut self, column: Option<usize>) -> Self {
        self.0.column = self.0.column.or(column);
        self
    }

    /// Replaces the value by what was written.
    pub(crate) fn with_value(mut self, value: &str) -> Self {
        value.clone_into(&mut self.0.value);
        self
    }

    pub(crate) fn in_line(mut self, line: &str) -> Self {
        line.clone_into(&mut self.0.line);
        self
    }

    /// Returns the limit line; for a limit made without one, what its line would be.
    #[must_use]
    pub fn line(&self) -> &str {
        &self.0.line
    }

    /// Returns the invalid field, as it is called in the limit line.
    #[must_use]
    pub fn field(&self) -> &str {
        &self.0.field
    }

    /// Returns the invalid value; empty if the field is missing.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.0.value
    }

    /// Returns where the value begins, in bytes from the start of the line; `None` if no line was
    /// parsed.
    #[must_use]
    pub fn column(&self) -> Option<usize> {
        self.0.column
    }
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details { line, column, field, value, expected, nearest } = &*self.0;
        write!(f, "limit {line:?}")?;
        if let Some(column) = column {
            write!(f, ", column {}", column.saturating_add(1))?;
        }
        match value.as_str() {
            "" => write!(f, ": {field} is missing")?,
            value => write!(f, ": {field} {value:?} is not accepted")?,
        }
        write!(f, "; expected {expected}")?;
        f.write_str(&nearest.as_deref().map(suggestion).unwrap_or_default())
    }
}

impl Error for LimitError {}
