//! Drafts 6 and 7 of the IETF: the binding limit without a name, and the quotas of all limits.

use crate::fields::Fields;
use crate::headers::RateLimitHeaders;
use crate::number::push_number;
use crate::quota::Quota;
use crate::structured::List;

pub(crate) fn draft_7(headers: &RateLimitHeaders<'_>, fields: &mut Fields<'_>) {
    if let Some(binding) = headers.binding() {
        fields.built("ratelimit", |out| {
            out.push_str("limit=");
            push_number(out, binding.limit);
            out.push_str(", remaining=");
            push_number(out, binding.remaining);
            out.push_str(", reset=");
            push_number(out, headers.reset_seconds());
        });
    }
    fields.built("ratelimit-policy", |out| policy(headers, out));
}

pub(crate) fn draft_6(headers: &RateLimitHeaders<'_>, fields: &mut Fields<'_>) {
    if let Some(binding) = headers.binding() {
        fields.number("ratelimit-limit", binding.limit);
        fields.number("ratelimit-remaining", binding.remaining);
        fields.number("ratelimit-reset", headers.reset_seconds());
    }
    fields.built("ratelimit-policy", |out| policy(headers, out));
}

/// `10;w=60, 1000;w=3600`. These drafts require a window, so limits without one are left out.
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
