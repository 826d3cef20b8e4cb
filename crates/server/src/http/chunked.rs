//! Bodies that come in pieces, each with its length before it.

use std::ops::Range;

use httparse::{InvalidChunkSize, Status};
use smallvec::SmallVec;

use super::head::{Broken, TOO_LARGE};

const MALFORMED: Broken = Broken { status: 400, why: "a piece of the body is malformed" };

/// Puts the pieces together at the start of the bytes. Answers how long the body is, and how many bytes
/// its pieces took; `None` if there is more to come, and then nothing is moved.
///
/// # Errors
/// If a piece is malformed, or they are too long together.
pub(super) fn join(bytes: &mut [u8], most: usize) -> Result<Option<(usize, usize)>, Broken> {
    let mut pieces: SmallVec<[Range<usize>; 4]> = SmallVec::new();
    let (mut at, mut length) = (0, 0);
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let (digits, size) = match httparse::parse_chunk_size(rest) {
            Ok(Status::Complete((digits, size))) => (digits, usize::try_from(size)),
            Ok(Status::Partial) => return Ok(None),
            Err(InvalidChunkSize) => return Err(MALFORMED),
        };
        let size = size.ok().filter(|size| *size <= most.saturating_sub(length));
        let (from, size) = (at + digits, size.ok_or(TOO_LARGE)?);
        if size == 0 {
            break at = from;
        }
        match bytes.get(from + size..from + size + 2) {
            Some(b"\r\n") => {}
            Some(_) => return Err(MALFORMED),
            None => return Ok(None),
        }
        pieces.push(from..from + size);
        (at, length) = (from + size + 2, length + size);
    }
    let Some(end) = trailers(bytes, at) else { return Ok(None) };
    let mut to = 0;
    for piece in pieces {
        let size = piece.len();
        bytes.copy_within(piece, to);
        to += size;
    }
    Ok(Some((length, end)))
}

/// Where the fields after the last piece end. Nobody asks what they say.
fn trailers(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let rest = bytes.get(at..)?;
        let line = rest.windows(2).position(|pair| pair == b"\r\n")?;
        at += line + 2;
        if line == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(text: &str, most: usize) -> Result<Option<(String, usize)>, u16> {
        let mut bytes = text.as_bytes().to_vec();
        match join(&mut bytes, most) {
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
