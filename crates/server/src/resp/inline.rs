//! A command as people type it: one line, words between blanks, quotes around those with blanks in
//! them.

use std::ops::Range;

use super::parse::Broken;

/// Splits a line into its words. Quotes and escapes are resolved where they stand: a word never gets
/// longer by that.
pub(super) fn split(line: &mut [u8], mut tell: impl FnMut(Range<usize>)) -> Result<(), Broken> {
    let mut words = 0_usize;
    let mut at = 0;
    loop {
        while line.get(at).is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        }
        if at >= line.len() {
            return Ok(());
        }
        let (word, next) = word(line, at)?;
        if is_foreign(words, line.get(word.clone()).unwrap_or_default()) {
            return Err(Broken::Foreign);
        }
        tell(word);
        (words, at) = (words + 1, next);
    }
}

/// Whether someone speaks HTTP to us: a browser may be made to, by a page from elsewhere.
fn is_foreign(place: usize, word: &[u8]) -> bool {
    match place {
        0 => word.eq_ignore_ascii_case(b"post") || word.eq_ignore_ascii_case(b"host:"),
        2 => word.starts_with(b"HTTP/"),
        _ => false,
    }
}

/// The word that begins here, and where the rest does.
fn word(line: &mut [u8], start: usize) -> Result<(Range<usize>, usize), Broken> {
    let (mut from, mut to) = (start, start);
    let mut quote = None;
    while let Some(&byte) = line.get(from) {
        let (kept, length) = match (quote, byte) {
            (None, b'"' | b'\'') => {
                quote = Some(byte);
                (None, 1)
            }
            (None, blank) if blank.is_ascii_whitespace() => break,
            (Some(open), close) if open == close => {
                // What is quoted ends a word.
                if line.get(from + 1).is_some_and(|next| !next.is_ascii_whitespace()) {
                    return Err(Broken::Quotes);
                }
                quote = None;
                (None, 1)
            }
            (Some(b'"'), b'\\') => escaped(line.get(from + 1..).unwrap_or_default()),
            (Some(b'\''), b'\\') if line.get(from + 1) == Some(&b'\'') => (Some(b'\''), 2),
            _ => (Some(byte), 1),
        };
        if let (Some(byte), Some(place)) = (kept, line.get_mut(to)) {
            *place = byte;
            to += 1;
        }
        from += length;
    }
    if quote.is_some() { Err(Broken::Quotes) } else { Ok((start..to, from)) }
}

/// What stands behind a backslash, and how long both are.
fn escaped(rest: &[u8]) -> (Option<u8>, usize) {
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
