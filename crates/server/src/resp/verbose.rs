//! `VERBOSE`: a decision as a map of all that the JSON body says.

use smallvec::SmallVec;
use tollgate_core::Decision;

use super::reply::{Reply, millis};
use crate::engine::operation::Operation;

/// The value of one entry.
enum Value<'a> {
    Bool(bool),
    /// `None` where there is no bound.
    Number(Option<i64>),
    /// `None` where there is no such limit.
    Text(Option<&'a str>),
}

/// Writes the entries that the JSON body has, under the same names.
pub(super) fn write(operation: &Operation<'_>, decision: &Decision, reply: &mut Reply<'_>) {
    let bound_by = operation.limit(decision.bound_by).map(ToString::to_string);
    let entries = entries(operation, decision, bound_by.as_deref());
    reply.map(entries.len());
    for (name, value) in entries {
        reply.bulk(name.as_bytes());
        match value {
            Value::Bool(value) => reply.boolean(value),
            Value::Number(Some(number)) => reply.number(number),
            Value::Text(Some(text)) => reply.bulk(text.as_bytes()),
            Value::Number(None) | Value::Text(None) => reply.null(),
        }
    }
}

/// Returns what is said of a decision, in the order of the JSON body.
fn entries<'a>(
    operation: &'a Operation<'_>,
    decision: &Decision,
    bound_by: Option<&'a str>,
) -> SmallVec<[(&'static str, Value<'a>); 12]> {
    let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let mut entries = SmallVec::new();
    entries.push(("allowed", Value::Bool(decision.allowed)));
    if decision.would_deny {
        entries.push(("would_deny", Value::Bool(true)));
    }
    entries.push(("limit", Value::Number(decision.limit.map(count))));
    entries.push(("remaining", Value::Number(decision.remaining.map(count))));
    entries.push(("retry_after_ms", Value::Number(decision.retry_after.map(millis))));
    entries.push(("reset_after_ms", Value::Number(Some(millis(decision.reset_after)))));
    if decision.degraded {
        entries.push(("degraded", Value::Bool(true)));
        entries.push(("source", Value::Text(Some(decision.source.name()))));
    }
    if decision.not_remembered {
        entries.push(("remembered", Value::Bool(false)));
    }
    entries.push(("policy", Value::Text(Some(operation.policy_name().as_str()))));
    entries.push(("bound_by", Value::Text(bound_by)));
    entries
}
