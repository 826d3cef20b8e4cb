//! Drafts 6 and 7 of the IETF: one limit without a name, and the quotas of all.

use crate::fields::Fields;
use crate::headers::RateLimitHeaders;
use crate::number::push_number;
use crate::quota::Quota;
use crate::structured::List;

pub(crate) fn draft_7(headers: &RateLimitHeaders<'_>, fields: &mut Fields<'_>) {
    if let Some(bound) = headers.bound() {
        fields.built("ratelimit", |out| {
            out.push_str("limit=");
            push_number(out, bound.limit);
            out.push_str(", remaining=");
            push_number(out, bound.remaining);
            out.push_str(", reset=");
            push_number(out, headers.reset_seconds());
        });
    }
    fields.built("ratelimit-policy", |out| policy(headers, out));
}

pub(crate) fn draft_6(headers: &RateLimitHeaders<'_>, fields: &mut Fields<'_>) {
    if let Some(bound) = headers.bound() {
        fields.number("ratelimit-limit", bound.limit);
        fields.number("ratelimit-remaining", bound.remaining);
        fields.number("ratelimit-reset", headers.reset_seconds());
    }
    fields.built("ratelimit-policy", |out| policy(headers, out));
}

/// `10;w=60, 1000;w=3600`. A quota must have its window here, so what has none is left out.
fn policy(headers: &RateLimitHeaders<'_>, out: &mut String) {
    let mut list = List::tight(out);
    for (_, limit) in headers.limits() {
        let quota = Quota::of(limit, headers.now());
        if let Some((amount, seconds)) = quota.and_then(|quota| Some((quota.amount, quota.window?)))
        {
            list.number(amount);
            list.with_number("w", seconds);
        }
    }
}
