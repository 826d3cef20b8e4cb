//! Bodies that come in pieces, each with its length before it.

use httparse::Status;

use super::head::{Broken, TOO_LARGE, TOO_LONG};
use crate::limits::{HttpLimits, MAX_HEADERS};

const MALFORMED: Broken = Broken { status: 400, why: "a piece of the body is malformed" };
/// More digits than any length has.
const MAX_DIGITS: usize = 16;
/// More than anybody says about a piece: its signature, at most.
const MAX_EXTRA: usize = 1024;

/// How far the pieces of a body were read. What comes later is read on from there: from the start, one
/// who sends a byte at a time would have us read all of it for each.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    /// Where the next one begins.
    at: usize,
    /// How long they are together.
    length: usize,
}

impl Pieces {
    /// Puts the pieces together at the start of the bytes. Answers how long the body is, and how many bytes
    /// its pieces took; `None` if there is more to come, and then nothing is moved.
    ///
    /// # Errors
    /// If a piece is malformed, or they are too long together.
    pub(super) fn join(
        &mut self,
        bytes: &mut [u8],
        bounds: &HttpLimits,
    ) -> Result<Option<(usize, usize)>, Broken> {
        let Some(end) = self.read_on(bytes, bounds)? else { return Ok(None) };
        put_together(bytes)?;
        Ok(Some((self.length, end)))
    }

    /// Where the pieces and what follows the last of them end.
    fn read_on(&mut self, bytes: &[u8], bounds: &HttpLimits) -> Result<Option<usize>, Broken> {
        loop {
            let Some((from, size)) = size(bytes, self.at)? else { return Ok(None) };
            if size > bounds.body_bytes.saturating_sub(self.length) {
                return Err(TOO_LARGE);
            }
            if size == 0 {
                return trailers(bytes, from, bounds);
            }
            match bytes.get(from + size..from + size + 2) {
                Some(b"\r\n") => {}
                Some(_) => return Err(MALFORMED),
                None => return Ok(None),
            }
            *self = Pieces { at: from + size + 2, length: self.length + size };
        }
    }
}

/// Moves pieces that have all come to the start of the bytes.
fn put_together(bytes: &mut [u8]) -> Result<(), Broken> {
    let (mut at, mut to) = (0, 0);
    while let Some((from, size @ 1..)) = size(bytes, at)? {
        bytes.copy_within(from..from + size, to);
        (at, to) = (from + size + 2, to + size);
    }
    Ok(())
}

/// How long the piece is whose length stands here, and where it begins. Lines end in both characters:
/// whoever took one of them for an end would see other pieces than we do.
fn size(bytes: &[u8], at: usize) -> Result<Option<(usize, usize)>, Broken> {
    let rest = bytes.get(at..).unwrap_or_default();
    let digits =
        rest.iter().take(MAX_DIGITS + 1).take_while(|byte| byte.is_ascii_hexdigit()).count();
    let after = rest.get(digits..).unwrap_or_default();
    let extra = after.iter().take(MAX_EXTRA + 1).take_while(|byte| is_extra(**byte)).count();
    let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t');
    let begins = after.iter().take(extra).find(|byte| !is_blank(byte));
    if digits > MAX_DIGITS || begins.is_some_and(|byte| *byte != b';') {
        return Err(MALFORMED);
    }
    if extra > MAX_EXTRA {
        return Err(TOO_LARGE);
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

/// Where the fields after the last piece end. Nobody operations what they say, but fields they must be.
fn trailers(bytes: &[u8], at: usize, bounds: &HttpLimits) -> Result<Option<usize>, Broken> {
    let rest = bytes.get(at..).unwrap_or_default();
    let mut fields = [httparse::EMPTY_HEADER; MAX_HEADERS];
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
        let bounds = HttpLimits { body_bytes, ..HttpLimits::default() };
        match Pieces::default().join(&mut bytes, &bounds) {
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

    #[test]
    fn pieces_are_read_once_however_they_come() {
        let sent = "3;x=y\r\nabc\r\n1\r\nd\r\n0\r\n\r\n".as_bytes();
        // Where the pieces that have come whole end, when so many bytes have come.
        let ends = [(0, 0), (11, 0), (12, 12), (17, 12), (18, 18), (22, 18)];
        let mut pieces = Pieces::default();
        for came in 0..sent.len() {
            let mut bytes = sent[..came].to_vec();
            assert_eq!(pieces.join(&mut bytes, &HttpLimits::default()), Ok(None));
            let end = ends.iter().rev().find(|(from, _)| *from <= came).map(|(_, end)| *end);
            assert_eq!(Some(pieces.at), end, "{came} bytes");
        }
        let mut bytes = sent.to_vec();
        assert_eq!(pieces.join(&mut bytes, &HttpLimits::default()), Ok(Some((4, 23))));
        assert_eq!(&bytes[..4], b"abcd");
    }

    #[test]
    fn little_is_said_about_a_piece() {
        let said = |bytes: usize| format!("1;{}\r\na\r\n0\r\n\r\n", "x".repeat(bytes - 1));
        assert_eq!(joined(&said(MAX_EXTRA), 8), Ok(Some(("a".into(), 11 + MAX_EXTRA))));
        assert_eq!(joined(&said(MAX_EXTRA + 1), 8), Err(413));
    }
}
