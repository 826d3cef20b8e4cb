//! Lines of a trace, read one at a time and bounded in length.

use std::io::{self, BufRead, Read};

/// Maximum length of a line. A step with keys of maximum length fits many times over.
pub const MAX_LINE_BYTES: usize = 64 * 1024;

/// A line and its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'l> {
    /// Line number, counted from 1.
    pub number: u64,
    /// Text without the line break.
    pub text: &'l str,
}

/// Reads lines into one buffer that is reused.
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    /// Creates a reader of lines.
    pub fn new(reader: R) -> Lines<R> {
        Lines { reader, buffer: Vec::new(), number: 0 }
    }

    /// Returns the underlying reader.
    pub fn reader(&self) -> &R {
        &self.reader
    }

    /// Returns the next line that is not blank, or `None` at the end.
    ///
    /// # Errors
    /// Fails if the line cannot be read, is longer than [`MAX_LINE_BYTES`], or is not UTF-8. The
    /// message contains the line number.
    pub fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            self.buffer.clear();
            self.number = self.number.saturating_add(1);
            let max = u64::try_from(MAX_LINE_BYTES).unwrap_or(u64::MAX);
            self.reader.by_ref().take(max).read_until(b'\n', &mut self.buffer)?;
            if self.buffer.is_empty() {
                return Ok(None);
            }
            if self.buffer.len() == MAX_LINE_BYTES && self.buffer.last() != Some(&b'\n') {
                return Err(self.invalid(&format!("is longer than {MAX_LINE_BYTES} bytes")));
            }
            if !self.buffer.trim_ascii().is_empty() {
                break;
            }
        }
        match str::from_utf8(&self.buffer) {
            Ok(text) => Ok(Some(Line { number: self.number, text: text.trim_end() })),
            Err(_) => Err(self.invalid("is not UTF-8")),
        }
    }

    fn invalid(&self, what: &str) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, format!("line {} {what}", self.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_are_skipped_but_counted() {
        let mut lines = Lines::new(&b"a\n\n  \r\nb\r\nc"[..]);
        let mut seen = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            seen.push((line.number, line.text.to_owned()));
        }
        assert_eq!(seen, [(1, "a".into()), (4, "b".into()), (5, "c".into())]);
    }

    #[test]
    fn an_endless_line_is_an_error() {
        let mut lines = Lines::new(io::BufReader::new(io::repeat(b'x')));
        let error = lines.next_line().unwrap_err();
        assert_eq!(error.to_string(), "line 1 is longer than 65536 bytes");
    }

    #[test]
    fn invalid_utf8_is_an_error() {
        let mut lines = Lines::new(&b"ok\n\xff\n"[..]);
        assert_eq!(lines.next_line().unwrap().map(|line| line.number), Some(1));
        assert_eq!(lines.next_line().unwrap_err().to_string(), "line 2 is not UTF-8");
    }
}
