//! From bytes to the words of commands.
//!
//! Nothing is copied and nothing is allocated for what was only announced: a command is a list of
//! places in the buffer, found once all of it has arrived.

use std::fmt;
use std::ops::Range;

use super::inline;
use crate::limits::RespLimits;

/// The commands that have arrived whole. Made once, and filled again and again.
#[derive(Debug, Default)]
pub(crate) struct Commands {
    /// Where the words of all commands are in the buffer.
    words: Vec<Range<usize>>,
    /// For each command, how many words there are up to its end.
    ends: Vec<usize>,
}

/// One command: its name and its arguments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Command<'b> {
    buffer: &'b [u8],
    words: &'b [Range<usize>],
}

/// Why a connection cannot go on: what follows would be misread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    /// How many words there are is no number, or too large.
    Count,
    /// How long a word is is no number, or too large.
    Length,
    /// A word must begin with `$`, not with this.
    Dollar(u8),
    /// What ends a line is missing.
    LineEnd,
    /// The command has too many bytes.
    TooLarge,
    /// A line without an end.
    Line,
    /// A quote that is not closed.
    Quotes,
    /// Another protocol: whoever speaks it must not be answered.
    Foreign,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Broken::Count => f.write_str("invalid multibulk length"),
            Broken::Length => f.write_str("invalid bulk length"),
            Broken::Dollar(got) => write!(f, "expected '$', got '{}'", got.escape_ascii()),
            Broken::LineEnd => f.write_str("expected CRLF"),
            Broken::TooLarge => f.write_str("too big command"),
            Broken::Line => f.write_str("too big inline request"),
            Broken::Quotes => f.write_str("unbalanced quotes in request"),
            Broken::Foreign => f.write_str("this is not HTTP"),
        }
    }
}

/// How far something was read.
enum Step<T> {
    /// All of it; the rest begins here.
    Whole(T, usize),
    /// There is more to come.
    Part,
}

impl Commands {
    /// Finds the commands at the start of the buffer, as many as are answered at once. Answers how
    /// many bytes they take.
    ///
    /// # Errors
    /// If what comes after those that were found is no command.
    pub(crate) fn parse(
        &mut self,
        buffer: &mut [u8],
        bounds: &RespLimits,
    ) -> (usize, Result<(), Broken>) {
        self.words.clear();
        self.ends.clear();
        let mut taken = 0;
        while self.ends.len() < bounds.pipeline {
            let known = self.words.len();
            match self.next(buffer, taken, bounds) {
                Ok(Step::Whole((), end)) => taken = end,
                Ok(Step::Part) => {
                    self.words.truncate(known);
                    let is_full = buffer.len() - taken >= bounds.command_bytes;
                    return (taken, if is_full { Err(Broken::TooLarge) } else { Ok(()) });
                }
                Err(broken) => {
                    self.words.truncate(known);
                    return (taken, Err(broken));
                }
            }
            if self.words.len() > known {
                self.ends.push(self.words.len());
            }
        }
        (taken, Ok(()))
    }

    /// The commands that were found, in the buffer they were found in.
    pub(crate) fn iter<'b>(&'b self, buffer: &'b [u8]) -> impl Iterator<Item = Command<'b>> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let words = self.words.get(start..*end).unwrap_or_default();
            start = *end;
            Command { buffer, words }
        })
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Adds a command from elsewhere, whose words are kept in these bytes.
    pub(crate) fn push(&mut self, command: &Command<'_>, bytes: &mut Vec<u8>) {
        for word in command.words_from(0) {
            let start = bytes.len();
            bytes.extend_from_slice(word);
            self.words.push(start..bytes.len());
        }
        self.ends.push(self.words.len());
    }

    fn next(
        &mut self,
        buffer: &mut [u8],
        start: usize,
        bounds: &RespLimits,
    ) -> Result<Step<()>, Broken> {
        match buffer.get(start) {
            None => Ok(Step::Part),
            Some(b'*') => self.array(buffer, start, bounds),
            Some(_) => self.line(buffer, start, bounds),
        }
    }

    /// `*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n`
    fn array(
        &mut self,
        buffer: &[u8],
        start: usize,
        bounds: &RespLimits,
    ) -> Result<Step<()>, Broken> {
        let Step::Whole(count, mut at) = number(buffer, start + 1, Broken::Count)? else {
            return Ok(Step::Part);
        };
        // No words at all, or "none": nothing is asked.
        let count = usize::try_from(count).unwrap_or(0);
        if count > bounds.args {
            return Err(Broken::Count);
        }
        for _ in 0..count {
            let Step::Whole(word, end) = word(buffer, at, bounds)? else { return Ok(Step::Part) };
            self.words.push(word);
            at = end;
            if at - start > bounds.command_bytes {
                return Err(Broken::TooLarge);
            }
        }
        Ok(Step::Whole((), at))
    }

    /// A line of words, as people type them.
    fn line(
        &mut self,
        buffer: &mut [u8],
        start: usize,
        bounds: &RespLimits,
    ) -> Result<Step<()>, Broken> {
        let rest = buffer.get_mut(start..).unwrap_or_default();
        let Some(length) = rest.iter().position(|byte| *byte == b'\n') else {
            return if rest.len() >= bounds.command_bytes {
                Err(Broken::Line)
            } else {
                Ok(Step::Part)
            };
        };
        let (line, known) = (rest.get_mut(..length).unwrap_or_default(), self.words.len());
        inline::split(line, |word| self.words.push(start + word.start..start + word.end))?;
        let words = self.words.get(known..).unwrap_or_default();
        if words.len() > bounds.args || words.iter().any(|word| word.len() > bounds.arg_bytes) {
            return Err(Broken::TooLarge);
        }
        Ok(Step::Whole((), start + length + 1))
    }
}

impl<'b> Command<'b> {
    /// The word at this place; the name is at 0.
    #[inline]
    pub(crate) fn word(&self, place: usize) -> Option<&'b [u8]> {
        self.buffer.get(self.words.get(place)?.clone())
    }

    /// How many words there are, the name among them.
    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// How many bytes it takes to keep it.
    pub(crate) fn held(&self) -> usize {
        let words = self.words.iter().map(|word| word.len() + size_of::<Range<usize>>());
        words.sum::<usize>() + size_of::<usize>()
    }

    /// All words from this place on.
    pub(crate) fn words_from(&self, place: usize) -> impl Iterator<Item = &'b [u8]> {
        let (buffer, words) = (self.buffer, self.words.get(place..).unwrap_or_default());
        words.iter().map(|word| buffer.get(word.clone()).unwrap_or_default())
    }
}

/// `$4\r\nECHO\r\n`
#[inline]
fn word(buffer: &[u8], start: usize, bounds: &RespLimits) -> Result<Step<Range<usize>>, Broken> {
    match buffer.get(start) {
        Some(b'$') => {}
        Some(other) => return Err(Broken::Dollar(*other)),
        None => return Ok(Step::Part),
    }
    let Step::Whole(length, from) = number(buffer, start + 1, Broken::Length)? else {
        return Ok(Step::Part);
    };
    let length = usize::try_from(length).map_err(|_| Broken::Length)?;
    if length > bounds.arg_bytes {
        return Err(Broken::Length);
    }
    let to = from + length;
    match buffer.get(to..to + 2) {
        Some(b"\r\n") => Ok(Step::Whole(from..to, to + 2)),
        Some(_) => Err(Broken::LineEnd),
        None => Ok(Step::Part),
    }
}

/// Whether what should be a number is written with zeros that it does not need: `01`, `-0`.
#[inline]
fn has_leading_zero(buffer: &[u8], start: usize, end: usize) -> bool {
    end - start > 1 && matches!(buffer.get(start..start + 2), Some([b'0', _] | [b'-', b'0']))
}

/// The most digits of a count or a length: no number of as many overflows.
const MAX_DIGITS: usize = 10;

/// A whole number and the end of its line, as Redis reads it: without leading zeros.
#[inline]
fn number(buffer: &[u8], start: usize, broken: Broken) -> Result<Step<i64>, Broken> {
    // Nearly always it has one digit or two.
    match buffer.get(start..start + 4) {
        Some([one @ b'0'..=b'9', b'\r', b'\n', _]) => {
            Ok(Step::Whole(i64::from(one - b'0'), start + 3))
        }
        Some([ten @ b'1'..=b'9', one @ b'0'..=b'9', b'\r', b'\n']) => {
            Ok(Step::Whole(i64::from(ten - b'0') * 10 + i64::from(one - b'0'), start + 4))
        }
        _ => any_number(buffer, start, broken),
    }
}

#[inline(never)]
fn any_number(buffer: &[u8], start: usize, broken: Broken) -> Result<Step<i64>, Broken> {
    let negative = buffer.get(start) == Some(&b'-');
    let from = start + usize::from(negative);
    let (mut value, mut at) = (0_i64, from);
    loop {
        match buffer.get(at) {
            Some(digit @ b'0'..=b'9') if at - from < MAX_DIGITS => {
                value = value * 10 + i64::from(digit - b'0');
            }
            Some(b'\r') if at > from && !has_leading_zero(buffer, start, at) => break,
            Some(_) => return Err(broken),
            None => return Ok(Step::Part),
        }
        at += 1;
    }
    match buffer.get(at + 1) {
        Some(b'\n') => Ok(Step::Whole(if negative { -value } else { value }, at + 2)),
        Some(_) => Err(broken),
        None => Ok(Step::Part),
    }
}
