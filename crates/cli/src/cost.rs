//! The cost of a check on the command line: `5`, or of a unit, `tokens=850`.

use std::fmt;
use std::str::FromStr;

/// A cost, of a unit or the plain one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) unit: Option<String>,
    pub(crate) amount: u64,
}

impl FromStr for Cost {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Cost, &'static str> {
        let (unit, amount) = match text.split_once('=') {
            Some((unit, amount)) => (Some(unit.to_owned()), amount),
            None => (None, text),
        };
        let amount = amount
            .parse()
            .map_err(|_| "expected a whole number, or a unit with one, such as tokens=850")?;
        Ok(Cost { unit, amount })
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.unit {
            Some(unit) => write!(f, "{unit}={}", self.amount),
            None => self.amount.fmt(f),
        }
    }
}
