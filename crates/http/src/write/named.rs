//! Limits by their names: the IETF draft as it stands, and draft 8 as express-rate-limit writes it.

use sha2::{Digest, Sha256};
use tollgate_core::Key;

use crate::fields::Fields;
use crate::headers::RateLimitHeaders;
use crate::quota::Quota;
use crate::structured::List;

/// How much of a key's hash tells its partition, in hexadecimal digits.
const PARTITION_DIGITS: usize = 12;

pub(crate) fn ietf(headers: &RateLimitHeaders<'_>, fields: &mut Fields<'_>) {
    fields.built("ratelimit", |out| bound(headers, List::tight(out)));
    fields.built("ratelimit-policy", |out| policy(headers, List::tight(out), None));
}

pub(crate) fn draft_8(headers: &RateLimitHeaders<'_>, fields: &mut Fields<'_>) {
    fields.built("ratelimit", |out| bound(headers, List::spaced(out)));
    let partition = headers.partition().map(partition);
    fields
        .built("ratelimit-policy", |out| policy(headers, List::spaced(out), partition.as_deref()));
}

/// The limit that binds: what is left of it, and until when.
fn bound(headers: &RateLimitHeaders<'_>, mut list: List<'_>) {
    let Some(bound) = headers.bound() else { return };
    list.name(bound.name);
    list.with_number("r", bound.remaining);
    // Places are free when their holders say so; and zero seconds would bound nothing.
    let never = headers.is_denied() && headers.retry().is_none();
    let seconds = Some(headers.reset_seconds()).filter(|_| !bound.is_held && !never);
    if let Some(seconds) = seconds.filter(|seconds| *seconds > 0) {
        list.with_number("t", seconds);
    }
}

/// All limits that bound anything.
fn policy(headers: &RateLimitHeaders<'_>, mut list: List<'_>, partition: Option<&str>) {
    for (name, limit) in headers.limits() {
        let Some(quota) = Quota::of(limit, headers.now()) else { continue };
        list.name(name);
        list.with_number("q", quota.amount);
        if quota.is_held {
            list.with_word("qu", "concurrent-requests");
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

/// The first digits of the key's hash. It is their text, not the bytes they stand for, that the
/// dialect sends.
fn partition(key: Key<'_>) -> String {
    let digits = Sha256::digest(key.as_bytes())
        .into_iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(u32::from(digit), 16));
    digits.take(PARTITION_DIGITS).collect()
}
