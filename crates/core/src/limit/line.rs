//! What a limit line says, before and after it is checked.

use std::fmt;

use super::bounds::{LimitResult, too_many_slots};
use super::spec::Spec;
use super::{build, print};
use crate::decimal::Decimal;
use crate::error::LimitError;
use crate::rule::{MAX_ENTRIES, Rule};
use crate::subject::{MAX_NAME_BYTES, Name};

/// An algorithm with its numbers, and the words that any limit may add. Nothing is checked yet, so
/// that an invalid one can be printed in its error.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub(super) spec: Spec,
    pub(super) count_denied: bool,
    pub(super) factor: Decimal,
    pub(super) unit: Option<Name>,
    pub(super) per: Option<Name>,
}

impl Line {
    pub(super) fn new(spec: Spec) -> Line {
        Line { spec, count_denied: false, factor: Decimal::ONE, unit: None, per: None }
    }

    /// Checks all of it and builds the rule.
    pub(super) fn rule(&self) -> LimitResult<Rule> {
        if self.count_denied && matches!(self.spec, Spec::SlidingLog { .. }) {
            let expected = "sliding-counters instead of sliding-log, whose state denied attempts \
                            would make grow";
            return Err(LimitError::new("word", "count-denied", expected));
        }
        let rule = build::rule(&self.spec, self.factor)?;
        match &rule {
            // Denied attempts fill slots without end.
            Rule::Slots(slots)
                if self.count_denied && slots.slots_in_life() > MAX_ENTRIES as u64 =>
            {
                Err(too_many_slots(slots.width()))
            }
            _ => Ok(rule),
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print::spec(&self.spec, f)?;
        f.write_str(if self.count_denied { " count-denied" } else { "" })?;
        print::optional(f, "factor", Some(self.factor).filter(|factor| *factor != Decimal::ONE))?;
        print::optional(f, "of", self.unit.as_ref())?;
        print::optional(f, "per", self.per.as_ref())
    }
}

/// Creates the name after `of`.
pub(super) fn unit(text: &str) -> LimitResult<Name> {
    name("of", text, "tokens or bytes")
}

/// Creates the name after `per`.
pub(super) fn per(text: &str) -> LimitResult<Name> {
    name("per", text, "ip or user")
}

fn name(keyword: &str, text: &str, examples: &str) -> LimitResult<Name> {
    Name::new(text).map_err(|_| {
        let expected = format_args!(
            "a name of up to {MAX_NAME_BYTES} letters, digits, '-', '_' and '.', such as {examples}"
        );
        LimitError::new(keyword, text, expected)
    })
}
