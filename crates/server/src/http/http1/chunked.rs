//! Chunked bodies.

use httparse::Status;

use super::error::{HEAD_TOO_LARGE, MessageError, TOO_LARGE};
use crate::limits::{HttpLimits, MAX_HEADERS};

const MALFORMED: MessageError =
    MessageError { status: 400, detail: "malformed chunk in the request body" };
/// Maximum number of digits of a chunk size.
const MAX_DIGITS: usize = 16;
/// Maximum length of the extensions of a chunk: a signature fits.
const MAX_EXTENSION_BYTES: usize = 1024;

/// How far the chunks of a body have been parsed. Parsing goes on from there: from the start, a client that
/// sends a byte at a time would have us parse everything for each byte.
#[derive(Debug, Default)]
pub(super) struct ChunkedBody {
    /// Where the next chunk begins.
    at: usize,
    /// Total length of the chunks so far.
    length: usize,
}

impl ChunkedBody {
    /// Joins the chunks at the start of the bytes. Returns the length of the body, and how many bytes its
    /// chunks took; `None` if more is to come, and then nothing is moved.
    ///
    /// # Errors
    /// Fails if a chunk is malformed, or the body is too large.
    pub(super) fn join(
        &mut self,
        bytes: &mut [u8],
        limits: &HttpLimits,
    ) -> Result<Option<(usize, usize)>, MessageError> {
        let Some(end) = self.parse_more(bytes, limits)? else { return Ok(None) };
        join_chunks(bytes)?;
        Ok(Some((self.length, end)))
    }

    /// Returns where the chunks and their trailers end.
    fn parse_more(
        &mut self,
        bytes: &[u8],
        limits: &HttpLimits,
    ) -> Result<Option<usize>, MessageError> {
        loop {
            let Some((from, size)) = size(bytes, self.at)? else { return Ok(None) };
            if size > limits.body_bytes.saturating_sub(self.length) {
                return Err(TOO_LARGE);
            }
            if size == 0 {
                return trailers(bytes, from, limits);
            }
            match bytes.get(from + size..from + size + 2) {
                Some(b"\r\n") => {}
                Some(_) => return Err(MALFORMED),
                None => return Ok(None),
            }
            *self = ChunkedBody { at: from + size + 2, length: self.length + size };
        }
    }
}

/// Moves the data of the chunks to the start of the bytes.
fn join_chunks(bytes: &mut [u8]) -> Result<(), MessageError> {
    let (mut at, mut to) = (0, 0);
    while let Some((from, size @ 1..)) = size(bytes, at)? {
        bytes.copy_within(from..from + size, to);
        (at, to) = (from + size + 2, to + size);
    }
    Ok(())
}

/// Returns where the data of the chunk at `at` begins, and its size. Lines must end in CR LF: a proxy that
/// took a bare LF for an end would see other chunks than we do.
fn size(bytes: &[u8], at: usize) -> Result<Option<(usize, usize)>, MessageError> {
    let rest = bytes.get(at..).unwrap_or_default();
    let digits =
        rest.iter().take(MAX_DIGITS + 1).take_while(|byte| byte.is_ascii_hexdigit()).count();
    let after = rest.get(digits..).unwrap_or_default();
    let length =
        after.iter().take(MAX_EXTENSION_BYTES + 1).take_while(|byte| is_text(**byte)).count();
    let extensions = after.get(..length).unwrap_or_default();
    let starts_well = extensions.trim_ascii_start().first().is_none_or(|byte| *byte == b';');
    if digits > MAX_DIGITS || !starts_well {
        return Err(MALFORMED);
    }
    if length > MAX_EXTENSION_BYTES {
        return Err(TOO_LARGE);
    }
    match after.get(length..).unwrap_or_default() {
        [] => return Ok(None),
        [b'\r'] if digits > 0 => return Ok(None),
        [b'\r', b'\n', ..] if digits > 0 && are_extensions(extensions) => {}
        _ => return Err(MALFORMED),
    }
    let text = rest.get(..digits).and_then(|digits| std::str::from_utf8(digits).ok());
    let size = text.and_then(|text| usize::from_str_radix(text, 16).ok());
    Ok(Some((at + digits + length + 2, size.ok_or(TOO_LARGE)?)))
}

/// Returns whether a byte may occur between the size and the end of the line.
fn is_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

/// Returns whether these are extensions as RFC 9112, section 7.1.1, has them: `;name`, `;name=token` or
/// `;name="text"`, with spaces around `;` and `=`. They are ignored, but must be valid: a parser that took
/// an open quote for the start of a longer line would see other chunks than we do.
fn are_extensions(mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        let Some(rest) = skip_blank(bytes).strip_prefix(b";") else { return false };
        let Some(rest) = skip_token(skip_blank(rest)) else { return false };
        bytes = rest;
        if let Some(value) = skip_blank(rest).strip_prefix(b"=") {
            let value = skip_blank(value);
            let Some(rest) = skip_quoted(value).or_else(|| skip_token(value)) else { return false };
            bytes = rest;
        }
    }
    true
}

fn skip_blank(bytes: &[u8]) -> &[u8] {
    bytes.trim_ascii_start()
}

/// Returns what follows the token at the start, if there is one.
fn skip_token(bytes: &[u8]) -> Option<&[u8]> {
    let is_token = |byte: &&u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(*byte);
    let length = bytes.iter().take_while(is_token).count();
    bytes.get(length..).filter(|_| length > 0)
}

/// Returns what follows the quoted string at the start, if there is one and it is closed.
fn skip_quoted(bytes: &[u8]) -> Option<&[u8]> {
    let mut rest = bytes.strip_prefix(b"\"")?;
    loop {
        rest = match rest {
            [b'"', after @ ..] => return Some(after),
            [b'\\', _, after @ ..] => after,
            [b'\\'] | [] => return None,
            [_, after @ ..] => after,
        };
    }
}

/// Returns where the trailers end. They are ignored, but must be valid header fields.
fn trailers(bytes: &[u8], at: usize, limits: &HttpLimits) -> Result<Option<usize>, MessageError> {
    let rest = bytes.get(at..).unwrap_or_default();
    let mut fields = [httparse::EMPTY_HEADER; MAX_HEADERS];
    match httparse::parse_headers(rest, &mut fields) {
        Ok(Status::Complete((length, _))) if length <= limits.head_bytes => {
            // The parser accepts lines that end in a bare LF; we do not.
            let lines = rest.get(..length).unwrap_or_default();
            let is_bare = |pair: &[u8]| pair.last() == Some(&b'\n') && pair.first() != Some(&b'\r');
            let is_whole = lines.first() != Some(&b'\n') && !lines.windows(2).any(is_bare);
            if is_whole { Ok(Some(at + length)) } else { Err(MALFORMED) }
        }
        Ok(Status::Partial) if rest.len() < limits.head_bytes => Ok(None),
        Ok(_) | Err(httparse::Error::TooManyHeaders) => Err(HEAD_TOO_LARGE),
        Err(_) => Err(MALFORMED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(text: &str, body_bytes: usize) -> Result<Option<(String, usize)>, u16> {
        let mut bytes = text.as_bytes().to_vec();
        let limits = HttpLimits { body_bytes, ..HttpLimits::default() };
        match ChunkedBody::default().join(&mut bytes, &limits) {
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
    fn chunks_are_joined() {
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
    fn chunks_are_parsed_once_however_they_arrive() {
        let sent = "3;x=y\r\nabc\r\n1\r\nd\r\n0\r\n\r\n".as_bytes();
        // Where the complete chunks end, when so many bytes have arrived.
        let ends = [(0, 0), (11, 0), (12, 12), (17, 12), (18, 18), (22, 18)];
        let mut chunked = ChunkedBody::default();
        for came in 0..sent.len() {
            let mut bytes = sent[..came].to_vec();
            assert_eq!(chunked.join(&mut bytes, &HttpLimits::default()), Ok(None));
            let end = ends.iter().rev().find(|(from, _)| *from <= came).map(|(_, end)| *end);
            assert_eq!(Some(chunked.at), end, "{came} bytes");
        }
        let mut bytes = sent.to_vec();
        assert_eq!(chunked.join(&mut bytes, &HttpLimits::default()), Ok(Some((4, 23))));
        assert_eq!(&bytes[..4], b"abcd");
    }

    #[test]
    fn extensions_are_those_of_the_standard() {
        let valid = [
            "",
            ";a",
            ";a=b",
            "; a = b",
            " ;a",
            "\t;a\t=\tb",
            ";a=\"b c\"",
            ";a=\"\\\"\"",
            ";a;b=c;d=\"\"",
            ";a=\"x;y\"",
        ];
        for extensions in valid {
            assert!(are_extensions(extensions.as_bytes()), "{extensions:?}");
        }
        let invalid = [
            " ",
            "\t",
            ";",
            ";;",
            ";a;",
            ";a=",
            ";a= ",
            ";=b",
            ";a b",
            ";a=b c",
            ";a=\"b",
            ";a=\"b\\\"",
            ";a=\"b\"c",
            ";a ",
            ";a=b ",
            ";(a)",
            ";a=(b)",
            ";\u{e9}=b",
            "x;a",
        ];
        for extensions in invalid {
            assert!(!are_extensions(extensions.as_bytes()), "{extensions:?}");
            assert_eq!(joined(&format!("1{extensions}\r\na\r\n0\r\n\r\n"), 8), Err(400));
        }
    }

    #[test]
    fn extensions_are_bounded() {
        let said = |bytes: usize| format!("1;{}\r\na\r\n0\r\n\r\n", "x".repeat(bytes - 1));
        assert_eq!(
            joined(&said(MAX_EXTENSION_BYTES), 8),
            Ok(Some(("a".into(), 11 + MAX_EXTENSION_BYTES)))
        );
        assert_eq!(joined(&said(MAX_EXTENSION_BYTES + 1), 8), Err(413));
    }
}
