//! Numbers in decimal digits.

/// Appends a number in decimal.
pub(crate) fn push_number(out: &mut String, number: u64) {
    out.push_str(itoa::Buffer::new().format(number));
}
