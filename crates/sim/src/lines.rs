//! The lines of a trace, read one at a time and never longer than they may be.

use std::io::{self, BufRead, Read};

/// The longest line that is read. A step with keys of full length fits many times over.
pub const MAX_LINE_BYTES: usize = 64 * 1024;

/// One line and its number, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'l> {
    /// Which line it is.
    pub number: u64,
    /// What it says, without its end.
    pub text: &'l str,
}

/// Reads lines into one buffer that is used again and again.
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    /// The lines of a reader.
    pub fn new(reader: R) -> Lines<R> {
        Lines { reader, buffer: Vec::new(), number: 0 }
    }

    /// The reader, to see what it has left.
    pub fn reader(&self) -> &R {
        &self.reader
    }

    /// The next line that is not blank; `None` at the end.
    ///
    /// # Errors
    /// If it cannot be read, is too long, or is not UTF-8. The message names the line.
    pub fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            self.buffer.clear();
            self.number = self.number.saturating_add(1);
            let most = u64::try_from(MAX_LINE_BYTES).unwrap_or(u64::MAX);
            self.reader.by_ref().take(most).read_until(b'\n', &mut self.buffer)?;
            if self.buffer.is_empty() {
                return Ok(None);
            }
            if self.buffer.len() == MAX_LINE_BYTES && self.buffer.last() != Some(&b'\n') {
                return Err(self.bad(&format!("is longer than {MAX_LINE_BYTES} bytes")));
            }
            if !self.buffer.trim_ascii().is_empty() {
                break;
            }
        }
        match str::from_utf8(&self.buffer) {
            Ok(text) => Ok(Some(Line { number: self.number, text: text.trim_end() })),
            Err(_) => Err(self.bad("is not UTF-8")),
        }
    }

    fn bad(&self, what: &str) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, format!("line {} {what}", self.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_are_passed_over_and_counted() {
        let mut lines = Lines::new(&b"a\n\n  \r\nb\r\nc"[..]);
        let mut seen = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            seen.push((line.number, line.text.to_owned()));
        }
        assert_eq!(seen, [(1, "a".into()), (4, "b".into()), (5, "c".into())]);
    }

    #[test]
    fn a_line_without_end_is_not_kept() {
        let mut lines = Lines::new(io::BufReader::new(io::repeat(b'x')));
        let error = lines.next_line().unwrap_err();
        assert_eq!(error.to_string(), "line 1 is longer than 65536 bytes");
    }

    #[test]
    fn bytes_that_are_no_text_are_an_error() {
        let mut lines = Lines::new(&b"ok\n\xff\n"[..]);
        assert_eq!(lines.next_line().unwrap().map(|line| line.number), Some(1));
        assert_eq!(lines.next_line().unwrap_err().to_string(), "line 2 is not UTF-8");
    }
}
