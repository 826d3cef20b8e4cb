//! Conversions that let a function accept lines and limits alike.

use std::convert::Infallible;

use super::Limit;
use crate::error::LimitError;

impl TryFrom<&str> for Limit {
    type Error = LimitError;

    fn try_from(line: &str) -> Result<Limit, LimitError> {
        line.parse()
    }
}

impl TryFrom<&&str> for Limit {
    type Error = LimitError;

    fn try_from(line: &&str) -> Result<Limit, LimitError> {
        line.parse()
    }
}

impl TryFrom<&String> for Limit {
    type Error = LimitError;

    fn try_from(line: &String) -> Result<Limit, LimitError> {
        line.parse()
    }
}

impl TryFrom<String> for Limit {
    type Error = LimitError;

    fn try_from(line: String) -> Result<Limit, LimitError> {
        line.parse()
    }
}

/// Lets `L: TryInto<Limit, Error: Into<LimitError>>` accept a [`Limit`] as it is.
impl From<Infallible> for LimitError {
    fn from(never: Infallible) -> LimitError {
        match never {}
    }
}
