//! `x-ratelimit-*`: the same names with two meanings of reset.

use crate::fields::Fields;
use crate::headers::RateLimitHeaders;

const SECOND: u64 = 1_000_000;

pub(crate) fn epoch(headers: &RateLimitHeaders<'_>, fields: &mut Fields<'_>) {
    let at = headers.now().as_micros().saturating_add(headers.reset().as_micros());
    all(headers, fields, at.div_ceil(SECOND));
}

pub(crate) fn delta(headers: &RateLimitHeaders<'_>, fields: &mut Fields<'_>) {
    all(headers, fields, headers.reset_seconds());
}

fn all(headers: &RateLimitHeaders<'_>, fields: &mut Fields<'_>, reset: u64) {
    let Some(binding) = headers.binding() else { return };
    fields.number("x-ratelimit-limit", binding.limit);
    fields.number("x-ratelimit-remaining", binding.remaining);
    fields.number("x-ratelimit-used", binding.used());
    fields.text("x-ratelimit-resource", headers.policy_name());
    fields.number("x-ratelimit-reset", reset);
}
