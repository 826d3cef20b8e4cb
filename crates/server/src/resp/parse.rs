//! Parses bytes into commands.
//!
//! Nothing is copied, and nothing is allocated for arguments that are only announced: a command is a list of
//! ranges of the buffer, found once all of it has arrived.

use std::fmt;
use std::ops::Range;

use super::inline;
use crate::limits::RespLimits;

/// The commands that have arrived completely. Allocated once and reused.
#[derive(Debug, Default)]
pub(crate) struct CommandBatch {
    /// The arguments of all commands, as ranges of the buffer.
    args: Vec<Range<usize>>,
    /// For each command, the end of its arguments in `args`.
    ends: Vec<usize>,
}

/// One command. Its first argument is its name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Command<'b> {
    buffer: &'b [u8],
    args: &'b [Range<usize>],
}

/// An error after which the connection is closed, since what follows would be misread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProtocolError {
    /// The number of arguments is not a number, or too large.
    ArgCount,
    /// The length of an argument is not a number, or too large.
    ArgLength,
    /// An argument starts with this byte instead of `$`.
    ExpectedDollar(u8),
    /// The end of a line is missing.
    ExpectedCrlf,
    /// The command has too many bytes.
    CommandTooLarge,
    /// An inline command has no end of line within the maximum size.
    LineTooLong,
    /// A quote is not closed, or an argument goes on after the closing quote.
    UnbalancedQuotes,
    /// The client speaks HTTP. It must not get a reply.
    Http,
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProtocolError::ArgCount => f.write_str("invalid multibulk length"),
            ProtocolError::ArgLength => f.write_str("invalid bulk length"),
            ProtocolError::ExpectedDollar(got) => {
                write!(f, "expected '$', got '{}'", got.escape_ascii())
            }
            ProtocolError::ExpectedCrlf => f.write_str("expected CRLF"),
            ProtocolError::CommandTooLarge => f.write_str("too big command"),
            ProtocolError::LineTooLong => f.write_str("too big inline request"),
            ProtocolError::UnbalancedQuotes => f.write_str("unbalanced quotes in request"),
            ProtocolError::Http => f.write_str("this is not HTTP"),
        }
    }
}

/// The result of scanning the buffer.
enum Scan<T> {
    /// A value, and the position after it.
    Complete(T, usize),
    /// The buffer ends within the value.
    Incomplete,
}

impl CommandBatch {
    /// Parses the commands at the start of the buffer, at most `limits.pipeline` of them. Returns the number
    /// of bytes they take.
    ///
    /// # Errors
    /// Fails if the bytes after the parsed commands are not a command.
    pub(crate) fn parse(
        &mut self,
        buffer: &mut [u8],
        limits: &RespLimits,
    ) -> (usize, Result<(), ProtocolError>) {
        self.args.clear();
        self.ends.clear();
        let mut consumed = 0;
        while self.ends.len() < limits.pipeline {
            let known = self.args.len();
            match self.next(buffer, consumed, limits) {
                Ok(Scan::Complete((), end)) => consumed = end,
                Ok(Scan::Incomplete) => {
                    self.args.truncate(known);
                    let is_full = buffer.len() - consumed >= limits.command_bytes;
                    return (
                        consumed,
                        if is_full { Err(ProtocolError::CommandTooLarge) } else { Ok(()) },
                    );
                }
                Err(error) => {
                    self.args.truncate(known);
                    return (consumed, Err(error));
                }
            }
            if self.args.len() > known {
                self.ends.push(self.args.len());
            }
        }
        (consumed, Ok(()))
    }

    /// Returns the parsed commands. `buffer` must be the buffer they were parsed from.
    pub(crate) fn iter<'b>(&'b self, buffer: &'b [u8]) -> impl Iterator<Item = Command<'b>> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let args = self.args.get(start..*end).unwrap_or_default();
            start = *end;
            Command { buffer, args }
        })
    }

    /// Returns the number of commands.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Adds a copy of a command whose arguments are appended to `bytes`.
    pub(crate) fn push(&mut self, command: &Command<'_>, bytes: &mut Vec<u8>) {
        for arg in command.args_from(0) {
            let start = bytes.len();
            bytes.extend_from_slice(arg);
            self.args.push(start..bytes.len());
        }
        self.ends.push(self.args.len());
    }

    fn next(
        &mut self,
        buffer: &mut [u8],
        start: usize,
        limits: &RespLimits,
    ) -> Result<Scan<()>, ProtocolError> {
        match buffer.get(start) {
            None => Ok(Scan::Incomplete),
            Some(b'*') => self.array(buffer, start, limits),
            Some(_) => self.line(buffer, start, limits),
        }
    }

    /// `*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n`
    fn array(
        &mut self,
        buffer: &[u8],
        start: usize,
        limits: &RespLimits,
    ) -> Result<Scan<()>, ProtocolError> {
        let Scan::Complete(count, mut at) = number(buffer, start + 1, ProtocolError::ArgCount)?
        else {
            return Ok(Scan::Incomplete);
        };
        // An empty or a null array is no command.
        let count = usize::try_from(count).unwrap_or(0);
        if count > limits.args {
            return Err(ProtocolError::ArgCount);
        }
        for _ in 0..count {
            let Scan::Complete(arg, end) = bulk(buffer, at, limits)? else {
                return Ok(Scan::Incomplete);
            };
            self.args.push(arg);
            at = end;
            if at - start > limits.command_bytes {
                return Err(ProtocolError::CommandTooLarge);
            }
        }
        Ok(Scan::Complete((), at))
    }

    /// Parses an inline command.
    fn line(
        &mut self,
        buffer: &mut [u8],
        start: usize,
        limits: &RespLimits,
    ) -> Result<Scan<()>, ProtocolError> {
        let rest = buffer.get_mut(start..).unwrap_or_default();
        let Some(length) = rest.iter().position(|byte| *byte == b'\n') else {
            return if rest.len() >= limits.command_bytes {
                Err(ProtocolError::LineTooLong)
            } else {
                Ok(Scan::Incomplete)
            };
        };
        let (line, known) = (rest.get_mut(..length).unwrap_or_default(), self.args.len());
        inline::split(line, |arg| self.args.push(start + arg.start..start + arg.end))?;
        let args = self.args.get(known..).unwrap_or_default();
        if args.len() > limits.args || args.iter().any(|arg| arg.len() > limits.arg_bytes) {
            return Err(ProtocolError::CommandTooLarge);
        }
        Ok(Scan::Complete((), start + length + 1))
    }
}

impl<'b> Command<'b> {
    /// Returns an argument by its index. The name of the command is at 0.
    #[inline]
    pub(crate) fn arg(&self, index: usize) -> Option<&'b [u8]> {
        self.buffer.get(self.args.get(index)?.clone())
    }

    /// Returns the number of arguments, including the name.
    pub(crate) fn len(&self) -> usize {
        self.args.len()
    }

    /// Returns the number of bytes it takes to queue the command.
    pub(crate) fn queued_bytes(&self) -> usize {
        let args = self.args.iter().map(|arg| arg.len() + size_of::<Range<usize>>());
        args.sum::<usize>() + size_of::<usize>()
    }

    /// Returns the arguments from an index on.
    pub(crate) fn args_from(&self, index: usize) -> impl Iterator<Item = &'b [u8]> {
        let (buffer, args) = (self.buffer, self.args.get(index..).unwrap_or_default());
        args.iter().map(|arg| buffer.get(arg.clone()).unwrap_or_default())
    }
}

/// `$4\r\nECHO\r\n`
#[inline]
fn bulk(
    buffer: &[u8],
    start: usize,
    limits: &RespLimits,
) -> Result<Scan<Range<usize>>, ProtocolError> {
    match buffer.get(start) {
        Some(b'$') => {}
        Some(other) => return Err(ProtocolError::ExpectedDollar(*other)),
        None => return Ok(Scan::Incomplete),
    }
    let Scan::Complete(length, from) = number(buffer, start + 1, ProtocolError::ArgLength)? else {
        return Ok(Scan::Incomplete);
    };
    let length = usize::try_from(length).map_err(|_| ProtocolError::ArgLength)?;
    if length > limits.arg_bytes {
        return Err(ProtocolError::ArgLength);
    }
    let to = from + length;
    match buffer.get(to..to + 2) {
        Some(b"\r\n") => Ok(Scan::Complete(from..to, to + 2)),
        Some(_) => Err(ProtocolError::ExpectedCrlf),
        None => Ok(Scan::Incomplete),
    }
}

/// Returns whether a number has a leading zero, as in `01` or `-0`.
#[inline]
fn has_leading_zero(buffer: &[u8], start: usize, end: usize) -> bool {
    end - start > 1 && matches!(buffer.get(start..start + 2), Some([b'0', _] | [b'-', b'0']))
}

/// Maximum number of digits in a count or a length. No number of so many digits overflows.
const MAX_DIGITS: usize = 10;

/// Parses a whole number and the end of its line. Like Redis, it rejects leading zeros.
#[inline]
fn number(buffer: &[u8], start: usize, error: ProtocolError) -> Result<Scan<i64>, ProtocolError> {
    // Fast path: nearly all numbers have one or two digits.
    match buffer.get(start..start + 4) {
        Some([one @ b'0'..=b'9', b'\r', b'\n', _]) => {
            Ok(Scan::Complete(i64::from(one - b'0'), start + 3))
        }
        Some([ten @ b'1'..=b'9', one @ b'0'..=b'9', b'\r', b'\n']) => {
            Ok(Scan::Complete(i64::from(ten - b'0') * 10 + i64::from(one - b'0'), start + 4))
        }
        _ => any_number(buffer, start, error),
    }
}

#[inline(never)]
fn any_number(
    buffer: &[u8],
    start: usize,
    error: ProtocolError,
) -> Result<Scan<i64>, ProtocolError> {
    let negative = buffer.get(start) == Some(&b'-');
    let from = start + usize::from(negative);
    let (mut value, mut at) = (0_i64, from);
    loop {
        match buffer.get(at) {
            Some(digit @ b'0'..=b'9') if at - from < MAX_DIGITS => {
                value = value * 10 + i64::from(digit - b'0');
            }
            Some(b'\r') if at > from && !has_leading_zero(buffer, start, at) => break,
            Some(_) => return Err(error),
            None => return Ok(Scan::Incomplete),
        }
        at += 1;
    }
    match buffer.get(at + 1) {
        Some(b'\n') => Ok(Scan::Complete(if negative { -value } else { value }, at + 2)),
        Some(_) => Err(error),
        None => Ok(Scan::Incomplete),
    }
}
