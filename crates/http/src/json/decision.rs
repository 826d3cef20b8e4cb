//! A decision, and the status of one limit, as members of a JSON object.

use tollgate_core::{Decision, LimitStatus};

use super::millis::Millis;
use crate::number::push_number;

/// Appends the members of a JSON object that describe a decision, from `allowed` to
/// `reset_after_ms`, without the braces.
///
/// `limit` and `remaining` are `null` for an unlimited policy, `retry_after_ms` is `null` if the
/// cost can never fit. A decision that was made without the store, because the store was unavailable,
/// has the members `degraded` and `source` as well. One that was not remembered by its id, because the
/// memory for ids is full, has `"remembered":false`. One that the limits deny, and that is allowed because denials are
/// not enforced, has `"would_deny":true`.
pub fn push_decision(out: &mut String, decision: &Decision) {
    out.push_str(if decision.allowed { "\"allowed\":true," } else { "\"allowed\":false," });
    if decision.would_deny {
        out.push_str("\"would_deny\":true,");
    }
    // The numbers of a policy have the names that those of its limits have.
    push_status(out, &decision.only_status());
    if decision.degraded {
        out.push_str(",\"degraded\":true,\"source\":\"");
        // A name has no character that must be escaped.
        out.push_str(decision.source.name());
        out.push('"');
    }
    if decision.not_remembered {
        out.push_str(",\"remembered\":false");
    }
}

/// Appends the members of a JSON object that describe the status of a limit, from `limit` to
/// `reset_after_ms`, without the braces. They can be `null` as in [`push_decision`].
pub fn push_status(out: &mut String, status: &LimitStatus) {
    let LimitStatus { limit, remaining, retry_after, reset_after, .. } = *status;
    out.push_str("\"limit\":");
    push_number_or_null(out, limit);
    out.push_str(",\"remaining\":");
    push_number_or_null(out, remaining);
    out.push_str(",\"retry_after_ms\":");
    match retry_after {
        Some(wait) => Millis::from(wait).push_to(out),
        None => out.push_str("null"),
    }
    out.push_str(",\"reset_after_ms\":");
    Millis::from(reset_after).push_to(out);
}

fn push_number_or_null(out: &mut String, number: Option<u64>) {
    match number {
        Some(number) => push_number(out, number),
        None => out.push_str("null"),
    }
}
