//! The code around a state that is one decimal number: `lua/decimal.lua` reads and writes it.

use super::assemble::{Assembly, Context};
use super::placeholders::subject_variable;
use super::records::tag;
use crate::format::VERSION;
use crate::shape::RuleKind;

impl Assembly<'_> {
    /// Whether the value of a subject may be one decimal number: that of a flow at the first position, alone.
    pub(super) fn may_be_decimal(&self, subject: usize) -> bool {
        let counting = self.limits_of(subject).into_iter().filter(Context::counts);
        let counting: Vec<_> = counting.map(|limit| (limit.position, limit.kind)).collect();
        counting == [(0, RuleKind::Flow)]
    }

    /// Whether such a number is read and replied with as it is. Any other script puts a record in its place first.
    pub(super) fn reads_decimal(&self) -> bool {
        self.shape.subject_count() == 1
            && self.may_be_decimal(0)
            && !self.shape.runs
            && self.replies_with_values()
    }

    /// The test whether the value is a number: then the body is said to be at its beginning.
    pub(super) fn decimal_layout(&self, subject: usize) -> String {
        if !self.reads_decimal() {
            return String::new();
        }
        let (s, limits) = (subject + 1, self.limits_of(subject));
        let counting = limits.into_iter().filter(Context::counts);
        let at = counting.map(|limit| self.limit_variable(limit, "body_at") + " = 1\n");
        let is_decimal = format!("#value_{s} > 15 and string.find(value_{s}, '^%-?[1-9]%d+$')");
        format!("elseif {is_decimal} then\n{}", at.collect::<String>())
    }

    /// What is written of `kept`: the number, if that says it all.
    fn stored(&self, subject: usize) -> String {
        let limits = self.limits_of(subject).into_iter().filter(Context::counts);
        match limits.into_iter().next() {
            Some(limit) if self.may_be_decimal(subject) && !self.reads_decimal() => {
                let [body, decimal] =
                    ["new_body", "new_value"].map(|name| self.limit_variable(limit, name));
                let tag = tag(limit.position, limit.kind.number());
                let alone = format!("kept == '\\{VERSION}{tag}' .. {body}");
                format!("({body} and {decimal} and {alone} and {decimal} or kept)")
            }
            _ => "kept".to_owned(),
        }
    }

    /// Placeholders that are no numbers.
    pub(super) fn decimal_text(&self, limit: Context, name: &str) -> Option<String> {
        Some(match name {
            "STORED" => self.stored(limit.subject),
            "DECIMAL_TAG" => format!("'{}'", tag(0, RuleKind::Flow.number())),
            // Where the number is not replied with as it is, the record is needed as well.
            "DECIMAL_SUFFICES" if self.reads_decimal() => {
                let decimal = self.limit_variable(limit, "new_value");
                format!("{decimal} and not {}", subject_variable(limit.subject, "irregular"))
            }
            "DECIMAL_SUFFICES" => "false".to_owned(),
            _ => return None,
        })
    }
}
