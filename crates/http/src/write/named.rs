//! Named limits: the current IETF draft, and draft 8 as express-rate-limit writes it.

use sha2::{Digest, Sha256};
use tollgate_core::Key;

use crate::fields::Fields;
use crate::headers::RateLimitHeaders;
use crate::quota::Quota;
use crate::structured::List;

/// Number of hexadecimal digits of the key's hash in `pk`.
const PARTITION_DIGITS: usize = 12;

pub(crate) fn ietf(headers: &RateLimitHeaders<'_>, fields: &mut Fields<'_>) {
    fields.built("ratelimit", |out| binding(headers, List::tight(out)));
    fields.built("ratelimit-policy", |out| policy(headers, List::tight(out), None));
}

pub(crate) fn draft_8(headers: &RateLimitHeaders<'_>, fields: &mut Fields<'_>) {
    fields.built("ratelimit", |out| binding(headers, List::spaced(out)));
    let partition = headers.partition().map(partition);
    fields
        .built("ratelimit-policy", |out| policy(headers, List::spaced(out), partition.as_deref()));
}

/// Writes what remains of the binding limit, and until when.
fn binding(headers: &RateLimitHeaders<'_>, mut list: List<'_>) {
    let Some(binding) = headers.binding() else { return };
    list.name(binding.name);
    list.with_number("r", binding.remaining);
    // Leases become free when their holders release them; and `t=0` would mean no bound.
    let never = headers.is_denied() && headers.retry_after().is_none();
    let seconds = Some(headers.reset_seconds()).filter(|_| !binding.is_concurrency && !never);
    if let Some(seconds) = seconds.filter(|seconds| *seconds > 0) {
        list.with_number("t", seconds);
    }
}

/// Writes the quotas of all limits, except unlimited ones.
fn policy(headers: &RateLimitHeaders<'_>, mut list: List<'_>, partition: Option<&str>) {
    for (name, limit) in headers.limits() {
        let Some(quota) = Quota::of(limit, headers.now()) else { continue };
        list.name(name);
        list.with_number("q", quota.amount);
        match limit.unit() {
            Some(unit) => list.with_string("qu", unit.as_str()),
            None if quota.is_concurrency => list.with_string("qu", "concurrent-requests"),
            // The default is requests.
            None => {}
        }
        if let Some(seconds) = quota.window {
            list.with_number("w", seconds);
        }
        if let Some(burst) = quota.burst {
            list.with_number("tollgate-burst", burst);
        }
        if let Some(partition) = partition {
            list.with_bytes("pk", partition.as_bytes());
        }
    }
}

/// Returns the first digits of the key's hash. The dialect sends the digits as text, not the bytes.
fn partition(key: Key<'_>) -> String {
    let digits = Sha256::digest(key.as_bytes())
        .into_iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(u32::from(digit), 16));
    digits.take(PARTITION_DIGITS).collect()
}
