//! The headers of Sharkey's leaky bucket: seconds with decimals.

use tollgate_core::Span;

use crate::fields::Fields;
use crate::headers::RateLimitHeaders;
use crate::number::push_number;

pub(crate) fn leaky(headers: &RateLimitHeaders<'_>, fields: &mut Fields<'_>) {
    let Some(binding) = headers.binding() else { return };
    // A large cost can be denied though something remains; clients stop at zero.
    let remaining = if headers.is_denied() { 0 } else { binding.remaining };
    fields.number("x-ratelimit-remaining", remaining);
    fields.built("x-ratelimit-clear", |out| push_decimal(out, headers.full_reset_after()));
    if let Some(wait) = headers.retry_after() {
        fields.built("x-ratelimit-reset", |out| push_decimal(out, wait));
    }
}

/// Appends seconds with three decimals, rounded up.
fn push_decimal(out: &mut String, span: Span) {
    let millis = span.as_micros().div_ceil(1_000);
    push_number(out, millis / 1_000);
    out.push('.');
    for digit in [millis / 100 % 10, millis / 10 % 10, millis % 10] {
        push_number(out, digit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_round_up() {
        for (micros, text) in [
            (0, "0.000"),
            (1, "0.001"),
            (1_000, "0.001"),
            (1_500_000, "1.500"),
            (59_999_001, "60.000"),
            (61_020_000, "61.020"),
        ] {
            let mut out = String::new();
            push_decimal(&mut out, Span::from_micros(micros));
            assert_eq!(out, text);
        }
    }
}
