//! Drafts 6 and 7 of the IETF: one limit without a name, and the quotas of all.

use crate::fields::Fields;
use crate::quota::Quota;
use crate::structured::{List, push_number};
use crate::told::Told;

pub(crate) fn seven(told: &Told<'_>, fields: &mut Fields<'_>) {
    if let Some(bound) = told.bound() {
        fields.built("ratelimit", |out| {
            out.push_str("limit=");
            push_number(out, bound.limit);
            out.push_str(", remaining=");
            push_number(out, bound.remaining);
            out.push_str(", reset=");
            push_number(out, told.reset_seconds());
        });
    }
    fields.built("ratelimit-policy", |out| policy(told, out));
}

pub(crate) fn six(told: &Told<'_>, fields: &mut Fields<'_>) {
    if let Some(bound) = told.bound() {
        fields.number("ratelimit-limit", bound.limit);
        fields.number("ratelimit-remaining", bound.remaining);
        fields.number("ratelimit-reset", told.reset_seconds());
    }
    fields.built("ratelimit-policy", |out| policy(told, out));
}

/// `10;w=60, 1000;w=3600`. A quota must have its window here, so what has none is left out.
fn policy(told: &Told<'_>, out: &mut String) {
    let mut list = List::tight(out);
    for (_, limit) in told.limits() {
        let quota = Quota::of(limit, told.now());
        if let Some((amount, seconds)) = quota.and_then(|quota| Some((quota.amount, quota.window?)))
        {
            list.number(amount);
            list.with_number("w", seconds);
        }
    }
}
