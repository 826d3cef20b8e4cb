//! The error of a limiter. A denial is not an error, but a decision.

use std::fmt;

use tollgate_core::{InvalidKey, LimitError, MissingKey, StoreError};

/// The error of a limiter that could not decide. Nothing was changed.
///
/// The caller chooses what to do then. Most let the request pass if the error is not the client's
/// fault.
#[derive(Debug, Clone)]
pub struct Error(Box<ErrorKind>);

#[derive(Debug, Clone)]
enum ErrorKind {
    InvalidKey(InvalidKey),
    MissingKey(MissingKey),
    Limit(LimitError),
    Store(StoreError),
}

impl Error {
    /// Returns whether a key or the id is empty or too long, or a subject has no key.
    #[must_use]
    pub fn is_bad_key(&self) -> bool {
        matches!(*self.0, ErrorKind::InvalidKey(_) | ErrorKind::MissingKey(_))
    }

    /// Returns whether the factor is out of bounds.
    #[must_use]
    pub fn is_bad_factor(&self) -> bool {
        matches!(*self.0, ErrorKind::Limit(_))
    }

    /// Returns whether the debt would be too large. The key is denied as it is.
    #[must_use]
    pub fn is_overdrawn(&self) -> bool {
        matches!(&*self.0, ErrorKind::Store(error) if error.is_overdrawn())
    }

    /// Returns whether the store has no room for what must be counted.
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(&*self.0, ErrorKind::Store(error) if error.is_full())
    }

    fn as_error(&self) -> &(dyn std::error::Error + 'static) {
        match &*self.0 {
            ErrorKind::InvalidKey(error) => error,
            ErrorKind::MissingKey(error) => error,
            ErrorKind::Limit(error) => error,
            ErrorKind::Store(error) => error,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_error(), f)
    }
}

impl std::error::Error for Error {
    /// Returns the cause of the error inside: its own message is already that of this error, and must
    /// not appear twice in a report of the whole chain.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.as_error().source()
    }
}

macro_rules! from {
    ($($error:ident => $kind:ident),*) => {
        $(impl From<$error> for Error {
            #[cold]
            fn from(error: $error) -> Error {
                Error(Box::new(ErrorKind::$kind(error)))
            }
        })*
    };
}

from! { InvalidKey => InvalidKey, MissingKey => MissingKey, LimitError => Limit, StoreError => Store }

#[cfg(test)]
mod tests {
    use std::error::Error as _;
    use std::io;

    use tollgate_core::Key;

    use super::*;

    #[test]
    fn the_source_is_the_cause_of_the_store_error() {
        let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
        let error = Error::from(StoreError::unavailable(refused()));
        assert_eq!(error.source().unwrap().to_string(), refused().to_string());
        assert!(error.source().unwrap().is::<io::Error>());
        assert_ne!(error.to_string(), refused().to_string());
    }

    #[test]
    fn an_error_without_a_cause_has_no_source() {
        let error = Error::from(Key::new(b"").unwrap_err());
        assert!(error.is_bad_key() && error.source().is_none());
    }
}
