//! Why a request does not fit its policy.

use std::error::Error;
use std::fmt;

use crate::act::Act;
use crate::error::LimitError;
use crate::subject::{InvalidKey, Name};

/// The error of a request that does not fit its policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestError(Box<Kind>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// The nameless key, or the id.
    InvalidKey(InvalidKey),
    InvalidSubject(Name, InvalidKey),
    MissingKey(MissingKey),
    KeyTwice(String),
    CostTwice(String),
    UnknownUnit(String),
    Unsupported(Act),
    Factor(LimitError),
}

impl RequestError {
    #[cold]
    fn new(kind: Kind) -> RequestError {
        RequestError(Box::new(kind))
    }

    pub(super) fn of_key(subject: Option<&Name>, error: InvalidKey) -> RequestError {
        RequestError::new(match subject {
            Some(name) => Kind::InvalidSubject(name.clone(), error),
            None => Kind::InvalidKey(error),
        })
    }

    pub(super) fn key_twice(name: &str) -> RequestError {
        RequestError::new(Kind::KeyTwice(name.to_owned()))
    }

    pub(super) fn cost_twice(unit: &str) -> RequestError {
        RequestError::new(Kind::CostTwice(unit.to_owned()))
    }

    pub(super) fn unknown_unit(unit: &str) -> RequestError {
        RequestError::new(Kind::UnknownUnit(unit.to_owned()))
    }

    pub(super) fn unsupported(act: Act) -> RequestError {
        RequestError::new(Kind::Unsupported(act))
    }

    /// Returns whether a key or the id is empty or too long, or a key is missing or given twice.
    #[must_use]
    pub fn is_bad_key(&self) -> bool {
        matches!(
            *self.0,
            Kind::InvalidKey(_)
                | Kind::InvalidSubject(..)
                | Kind::MissingKey(_)
                | Kind::KeyTwice(_)
        )
    }

    /// Returns whether a cost has a unit that no limit has, or is given twice.
    #[must_use]
    pub fn is_bad_cost(&self) -> bool {
        matches!(*self.0, Kind::UnknownUnit(_) | Kind::CostTwice(_))
    }

    /// Returns whether the policy does not [support](crate::Policy::supports) the operation.
    #[must_use]
    pub fn is_unsupported(&self) -> bool {
        matches!(*self.0, Kind::Unsupported(_))
    }

    /// Returns whether the factor takes a limit out of its bounds.
    #[must_use]
    pub fn is_bad_factor(&self) -> bool {
        matches!(*self.0, Kind::Factor(_))
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Kind::InvalidKey(error) => error.fmt(f),
            Kind::InvalidSubject(name, error) => write!(f, "subject \"{name}\": {error}"),
            Kind::MissingKey(error) => error.fmt(f),
            Kind::KeyTwice(name) if name.is_empty() => {
                f.write_str("the nameless key is given twice")
            }
            Kind::KeyTwice(name) => write!(f, "key {name:?} is given twice"),
            Kind::CostTwice(unit) => write!(f, "the cost of {unit:?} is given twice"),
            Kind::UnknownUnit(unit) => {
                write!(f, "cost of {unit:?}: no limit of the policy has this unit (of UNIT)")
            }
            Kind::Unsupported(act @ Act::Settle) => {
                write!(f, "{act}: the policy counts nothing that can be reserved")
            }
            Kind::Unsupported(act) => {
                write!(f, "{act}: the policy has no concurrency limit, which gives leases")
            }
            Kind::Factor(error) => error.fmt(f),
        }
    }
}

impl Error for RequestError {
    /// Returns the cause of the error inside, whose own message is part of this one.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &*self.0 {
            Kind::InvalidKey(error) | Kind::InvalidSubject(_, error) => error.source(),
            Kind::MissingKey(error) => error.source(),
            Kind::Factor(error) => error.source(),
            Kind::KeyTwice(_)
            | Kind::CostTwice(_)
            | Kind::UnknownUnit(_)
            | Kind::Unsupported(_) => None,
        }
    }
}

impl From<InvalidKey> for RequestError {
    fn from(error: InvalidKey) -> RequestError {
        RequestError::new(Kind::InvalidKey(error))
    }
}

impl From<MissingKey> for RequestError {
    fn from(error: MissingKey) -> RequestError {
        RequestError::new(Kind::MissingKey(error))
    }
}

impl From<LimitError> for RequestError {
    fn from(error: LimitError) -> RequestError {
        RequestError::new(Kind::Factor(error))
    }
}

/// The error for a limit that counts a subject without a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingKey(Option<Name>);

impl MissingKey {
    pub(super) fn of(name: Option<&Name>) -> MissingKey {
        MissingKey(name.cloned())
    }
}

impl fmt::Display for MissingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(name) => write!(f, "missing key \"{name}\": a limit counts per {name}"),
            None => f.write_str("missing key: a limit counts the nameless key"),
        }
    }
}

impl Error for MissingKey {}
