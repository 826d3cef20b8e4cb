//! A decision as members of a JSON object.

use tollgate_core::Decision;

use super::millis::Millis;
use crate::number::push_number;

/// Appends the members of a JSON object that describe a decision, from `allowed` to
/// `reset_after_ms`, without the braces.
///
/// `limit` and `remaining` are `null` for an unlimited policy, `retry_after_ms` is `null` if the
/// cost can never fit.
pub fn push_decision(out: &mut String, decision: &Decision) {
    let Decision { allowed, limit, remaining, retry_after, reset_after, .. } = *decision;
    out.push_str(if allowed { "\"allowed\":true" } else { "\"allowed\":false" });
    out.push_str(",\"limit\":");
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
