//! Inline commands, as people type them: one line of arguments between spaces, with quotes around arguments
//! that contain spaces.

use std::ops::Range;

use super::parse::ProtocolError;

/// Splits a line into arguments and passes each to `push`. Quotes and escapes are resolved in place, as an
/// argument never gets longer by that.
pub(super) fn split(
    line: &mut [u8],
    mut push: impl FnMut(Range<usize>),
) -> Result<(), ProtocolError> {
    let mut count = 0_usize;
    let mut at = 0;
    loop {
        while line.get(at).is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        }
        if at >= line.len() {
            return Ok(());
        }
        let (arg, next) = next_arg(line, at)?;
        if is_http(count, line.get(arg.clone()).unwrap_or_default()) {
            return Err(ProtocolError::Http);
        }
        push(arg);
        (count, at) = (count + 1, next);
    }
}

/// Returns whether the client speaks HTTP. A page from another site can make a browser send such a request.
fn is_http(index: usize, arg: &[u8]) -> bool {
    match index {
        0 => arg.eq_ignore_ascii_case(b"post") || arg.eq_ignore_ascii_case(b"host:"),
        2 => arg.starts_with(b"HTTP/"),
        _ => false,
    }
}

/// Returns the argument that starts at `start`, and the position after it.
fn next_arg(line: &mut [u8], start: usize) -> Result<(Range<usize>, usize), ProtocolError> {
    let (mut from, mut to) = (start, start);
    let mut quote = None;
    while let Some(&byte) = line.get(from) {
        let (kept, length) = match (quote, byte) {
            (None, b'"' | b'\'') => {
                quote = Some(byte);
                (None, 1)
            }
            (None, space) if space.is_ascii_whitespace() => break,
            (Some(open), close) if open == close => {
                // A closing quote must end the argument.
                if line.get(from + 1).is_some_and(|next| !next.is_ascii_whitespace()) {
                    return Err(ProtocolError::UnbalancedQuotes);
                }
                quote = None;
                (None, 1)
            }
            (Some(b'"'), b'\\') => unescape(line.get(from + 1..).unwrap_or_default()),
            (Some(b'\''), b'\\') if line.get(from + 1) == Some(&b'\'') => (Some(b'\''), 2),
            _ => (Some(byte), 1),
        };
        if let (Some(byte), Some(target)) = (kept, line.get_mut(to)) {
            *target = byte;
            to += 1;
        }
        from += length;
    }
    if quote.is_some() { Err(ProtocolError::UnbalancedQuotes) } else { Ok((start..to, from)) }
}

/// Returns the byte that an escape stands for, and the length of the escape including its backslash. `rest`
/// follows the backslash.
fn unescape(rest: &[u8]) -> (Option<u8>, usize) {
    if let [b'x', high, low, ..] = rest
        && let (Some(high), Some(low)) = (hex(*high), hex(*low))
    {
        return (Some(high << 4 | low), 4);
    }
    match rest.first() {
        Some(b'n') => (Some(b'\n'), 2),
        Some(b'r') => (Some(b'\r'), 2),
        Some(b't') => (Some(b'\t'), 2),
        Some(b'b') => (Some(8), 2),
        Some(b'a') => (Some(7), 2),
        Some(other) => (Some(*other), 2),
        None => (Some(b'\\'), 1),
    }
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}
