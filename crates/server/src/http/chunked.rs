//! Bodies that come in pieces, each with its length before it.

use std::ops::Range;

use httparse::Status;
use smallvec::SmallVec;

use super::head::{Broken, TOO_LARGE, TOO_LONG};
use crate::bounds::{HttpBounds, MOST_HEADERS};

const MALFORMED: Broken = Broken { status: 400, why: "a piece of the body is malformed" };
/// More digits than any length has.
const MOST_DIGITS: usize = 16;

/// Puts the pieces together at the start of the bytes. Answers how long the body is, and how many bytes
/// its pieces took; `None` if there is more to come, and then nothing is moved.
///
/// # Errors
/// If a piece is malformed, or they are too long together.
pub(super) fn join(
    bytes: &mut [u8],
    bounds: &HttpBounds,
) -> Result<Option<(usize, usize)>, Broken> {
    let mut pieces: SmallVec<[Range<usize>; 4]> = SmallVec::new();
    let (mut at, mut length) = (0, 0);
    loop {
        let Some((from, size)) = size(bytes, at)? else { return Ok(None) };
        if size > bounds.body_bytes.saturating_sub(length) {
            return Err(TOO_LARGE);
        }
        at = from;
        if size == 0 {
            break;
        }
        match bytes.get(from + size..from + size + 2) {
            Some(b"\r\n") => {}
            Some(_) => return Err(MALFORMED),
            None => return Ok(None),
        }
        pieces.push(from..from + size);
        (at, length) = (from + size + 2, length + size);
    }
    let Some(end) = trailers(bytes, at, bounds)? else { return Ok(None) };
    let mut to = 0;
    for piece in pieces {
        let size = piece.len();
        bytes.copy_within(piece, to);
        to += size;
    }
    Ok(Some((length, end)))
}

/// How long the piece is whose length stands here, and where it begins. Lines end in both characters:
/// whoever took one of them for an end would see other pieces than we do.
fn size(bytes: &[u8], at: usize) -> Result<Option<(usize, usize)>, Broken> {
    let rest = bytes.get(at..).unwrap_or_default();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let after = rest.get(digits..).unwrap_or_default();
    let extra = after.iter().take_while(|byte| is_extra(**byte)).count();
    let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t');
    let begins = after.iter().take(extra).find(|byte| !is_blank(byte));
    if digits > MOST_DIGITS || begins.is_some_and(|byte| *byte != b';') {
        return Err(MALFORMED);
    }
    match after.get(extra..).unwrap_or_default() {
        [] => return Ok(None),
        [b'\r'] if digits > 0 => return Ok(None),
        [b'\r', b'\n', ..] if digits > 0 => {}
        _ => return Err(MALFORMED),
    }
    let text = rest.get(..digits).and_then(|digits| std::str::from_utf8(digits).ok());
    let size = text.and_then(|text| usize::from_str_radix(text, 16).ok());
    Ok(Some((at + digits + extra + 2, size.ok_or(TOO_LARGE)?)))
}

/// What may stand between the length and the end of the line.
fn is_extra(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

/// Where the fields after the last piece end. Nobody asks what they say, but fields they must be.
fn trailers(bytes: &[u8], at: usize, bounds: &HttpBounds) -> Result<Option<usize>, Broken> {
    let rest = bytes.get(at..).unwrap_or_default();
    let mut fields = [httparse::EMPTY_HEADER; MOST_HEADERS];
    match httparse::parse_headers(rest, &mut fields) {
        Ok(Status::Complete((length, _))) if length <= bounds.head_bytes => {
            // A line that ends in one character only is taken by the parser, and not by us.
            let lines = rest.get(..length).unwrap_or_default();
            let is_bare = |pair: &[u8]| pair.last() == Some(&b'\n') && pair.first() != Some(&b'\r');
            let is_whole = lines.first() != Some(&b'\n') && !lines.windows(2).any(is_bare);
            if is_whole { Ok(Some(at + length)) } else { Err(MALFORMED) }
        }
        Ok(Status::Partial) if rest.len() < bounds.head_bytes => Ok(None),
        Ok(_) | Err(httparse::Error::TooManyHeaders) => Err(TOO_LONG),
        Err(_) => Err(MALFORMED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(text: &str, body_bytes: usize) -> Result<Option<(String, usize)>, u16> {
        let mut bytes = text.as_bytes().to_vec();
        let bounds = HttpBounds { body_bytes, ..HttpBounds::default() };
        match join(&mut bytes, &bounds) {
            Ok(None) => {
                assert_eq!(bytes, text.as_bytes(), "nothing is moved before all is there");
                Ok(None)
            }
            Ok(Some((length, end))) => {
                Ok(Some((String::from_utf8_lossy(&bytes[..length]).into_owned(), end)))
            }
            Err(broken) => Err(broken.status),
        }
    }

    #[test]
    fn pieces_are_put_together() {
        let whole = |text: &str, end| Ok(Some((text.to_owned(), end)));
        let table = [
            ("0\r\n\r\n", whole("", 5)),
            ("3\r\nabc\r\n0\r\n\r\nrest", whole("abc", 13)),
            ("3;x=y\r\nabc\r\n1\r\nd\r\n0\r\n\r\n", whole("abcd", 23)),
            ("1\r\na\r\n0\r\nTrailer: x\r\n\r\n", whole("a", 23)),
            ("", Ok(None)),
            ("3\r\nab", Ok(None)),
            ("3\r\nabc\r\n0\r\n", Ok(None)),
            ("3\r\nabcd\r\n0\r\n\r\n", Err(400)),
            ("x\r\n", Err(400)),
            ("9\r\n", Err(413)),
            ("5\r\nabcde\r\n4\r\n", Err(413)),
            ("ffffffffffffffff\r\n", Err(413)),
        ];
        for (text, expected) in table {
            assert_eq!(joined(text, 8), expected, "{text:?}");
        }
    }
}
