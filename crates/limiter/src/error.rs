//! What can go wrong when a limiter is asked. A denial is not an error; it is an answer.

use std::fmt;

use tollgate_core::{InvalidKey, LimitError, MissingKey, StoreError};

/// Why a limiter gave no decision. Nothing was changed.
///
/// What to do about it is the caller's choice: most let a request pass if it is not the caller who
/// made the mistake.
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
    /// Whether the key or the id was empty or too long, or a subject was not named.
    #[must_use]
    pub fn is_bad_key(&self) -> bool {
        matches!(*self.0, ErrorKind::InvalidKey(_) | ErrorKind::MissingKey(_))
    }

    /// Whether the factor was out of bounds.
    #[must_use]
    pub fn is_bad_factor(&self) -> bool {
        matches!(*self.0, ErrorKind::Limit(_))
    }

    /// Whether the debt would be too large: the key is denied as it is.
    #[must_use]
    pub fn is_overdrawn(&self) -> bool {
        matches!(&*self.0, ErrorKind::Store(error) if error.is_overdrawn())
    }

    /// Whether the store had no room for what had to be counted.
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(&*self.0, ErrorKind::Store(error) if error.is_full())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            ErrorKind::InvalidKey(error) => error.fmt(f),
            ErrorKind::MissingKey(error) => error.fmt(f),
            ErrorKind::Limit(error) => error.fmt(f),
            ErrorKind::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

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
