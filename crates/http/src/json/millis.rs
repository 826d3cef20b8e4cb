//! Milliseconds with up to three decimals, exact to the microsecond.

use std::fmt;

use tollgate_core::{Span, Time};

use crate::number::push_number;

/// Microseconds, printed as milliseconds without trailing zeros: `1500.25`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Millis(u64);

impl From<Time> for Millis {
    fn from(time: Time) -> Millis {
        Millis(time.as_micros())
    }
}

impl From<Span> for Millis {
    fn from(span: Span) -> Millis {
        Millis(span.as_micros())
    }
}

impl Millis {
    /// Appends the number to `out`.
    pub fn push_to(self, out: &mut String) {
        push_number(out, self.0 / 1_000);
        let mut decimals = self.0 % 1_000;
        if decimals > 0 {
            out.push('.');
        }
        while decimals > 0 {
            let digit = u32::try_from(decimals / 100).unwrap_or(0);
            out.push(char::from_digit(digit, 10).unwrap_or('0'));
            decimals = (decimals % 100).wrapping_mul(10);
        }
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.push_to(&mut text);
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_are_printed_exactly() {
        for (micros, text) in [
            (0, "0"),
            (1, "0.001"),
            (10, "0.01"),
            (1_500_250, "1500.25"),
            (2_000, "2"),
            (9_099_909, "9099.909"),
        ] {
            assert_eq!(Millis(micros).to_string(), text);
        }
    }
}
